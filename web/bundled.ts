/**
 * Writes what the page bundles of other packages beside it: a bill of materials (CycloneDX) for programs, and the
 * licences for people. Made from the modules that are really in the page, so neither can be forgotten nor out of date.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';
import { modulesOfDocument } from './diagramDocument.ts';

type Bundled = { folder: string; name: string; version: string; license: string; text: string; sha512: string };

const FOLDER = /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/;
const LICENSE = /^(?:licen[cs]e|copying|notice)/i;

export function bundled(): Plugin {
  return {
    name: 'bundled',
    generateBundle(_, files) {
      const ids = Object.values(files).flatMap((file) => (file.type === 'chunk' ? Object.entries(file.modules) : []));
      // A style sheet is in the page's own, so none of it is left in the chunk.
      const used = ids.filter(([id, { renderedLength }]) => renderedLength > 0 || /\.css\b/.test(id)).map(([id]) => id);
      const folders = new Set([...used, ...modulesOfDocument].flatMap((id) => FOLDER.exec(id)?.[1] ?? []));
      const packages = [...folders].map(readPackage).sort((a, b) => (purl(a) < purl(b) ? -1 : 1));
      for (const { name, license } of packages) if (!license) this.error(`${name} is bundled, and names no licence.`);
      this.emitFile({
        type: 'asset',
        fileName: 'sbom.cdx.json',
        source: `${JSON.stringify(bill(packages), null, 1)}\n`,
      });
      this.emitFile({ type: 'asset', fileName: 'licenses.txt', source: notices(packages) });
    },
  };
}

function readPackage(folder: string): Bundled {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf-8')) as Record<
    string,
    string
  >;
  const texts = readdirSync(folder)
    .filter((file) => LICENSE.test(file))
    .sort();
  const text = texts.map((file) => readFileSync(join(folder, file), 'utf-8').trim()).join('\n\n');
  // One that names none may well have the text of one.
  const known = license ?? (/^\s*(?:The )?MIT License/i.test(text) ? 'MIT' : '');
  return {
    folder,
    name: name ?? '',
    version: version ?? '',
    license: known,
    text: text || readme(folder),
    sha512: hashOf(folder),
  };
}

/** Some have their licence at the end of their README. */
function readme(folder: string): string {
  const file = join(folder, 'README.md');
  const said = existsSync(file) ? /^#+ licen[cs]e\n([\s\S]*)/im.exec(readFileSync(file, 'utf-8'))?.[1] : '';
  return said?.trim() || 'The package has no text of its licence.';
}

const LOCK = JSON.parse(readFileSync(new URL('./package-lock.json', import.meta.url), 'utf-8')) as {
  packages: Record<string, { integrity?: string }>;
};

/** Return the hash of the package that was installed, as the lock has it. */
function hashOf(folder: string): string {
  const path = folder.slice(folder.search(/node_modules[\\/]/)).replaceAll('\\', '/');
  const { integrity = '' } = LOCK.packages[path] ?? {};
  if (!integrity) throw new Error(`${path} is bundled, and not in package-lock.json.`);
  return Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex');
}

function purl({ name, version }: Bundled): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

function bill(packages: readonly Bundled[]): object {
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': 'page',
        name: 'adk-prism-page',
        description: 'What the web page of adk-prism bundles',
      },
    },
    components: packages.map((one) => ({
      type: 'library',
      'bom-ref': purl(one),
      name: one.name,
      version: one.version,
      purl: purl(one),
      hashes: [{ alg: 'SHA-512', content: one.sha512 }],
      licenses: [/[ (]/.test(one.license) ? { expression: one.license } : { license: { id: one.license } }],
    })),
    dependencies: [{ ref: 'page', dependsOn: packages.map(purl) }],
  };
}

const LINE = '-'.repeat(80);

function notices(packages: readonly Bundled[]): string {
  const each = packages.map(
    ({ name, version, license, text }) =>
      `${LINE}\n${name} ${version} (${license})\n${LINE}\n\n${text.replaceAll('\r\n', '\n')}\n`,
  );
  return ['The web page of adk-prism contains code of these packages, under their licences.\n', ...each].join('\n');
}
