// Unpacks the browser of the tests into $TMPDIR, with fonts where it finds them: without any it dies.
import chromium from '@sparticuz/chromium';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';

const executable = await chromium.executablePath();
const fonts = path.join(path.dirname(executable), 'fonts');
const folders = [path.join(fonts, 'fonts'), '/usr/share/fonts'].map((folder) => `<dir>${folder}</dir>`).join('');
await writeFile(
  path.join(fonts, 'fonts.conf'),
  `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>${folders}<cachedir>${fonts}/cache</cachedir></fontconfig>\n`,
);
console.log(executable);
