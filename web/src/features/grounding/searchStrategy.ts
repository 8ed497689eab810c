/** The search strategy as Markdown: what was asked, searched and found, for a methods section. */
import type { Json } from '@adk-prism/client/film';
import type { GroundingView, Receipt } from './grounding';
import { boxOf, filterWords, text } from './box';

export function strategyMarkdown(view: GroundingView): string {
  const box = boxOf(view);
  const sections = [
    ['# Search strategy', `**Question:** ${line(box.question) || 'not stated'}`],
    [
      '## Stage',
      box.stage && view.step ? `${line(box.stage)} (${view.step.number} of ${view.step.of})` : line(box.stage),
    ],
    ['## Assumptions', list(box.assumptions)],
    ['## Open questions', list(box.questions)],
    ['## Filters', line(filterWords(box.filters))],
    ['## Searches', table(view.receipts)],
    ['## Counts', counts(view)],
  ];
  return `${sections
    .filter(([, body]) => body)
    .map(([title, body]) => `${title}\n\n${body}`)
    .join('\n\n')}\n`;
}

/** Keep a text on one line, with nothing in it that Markdown or HTML would take for its own. */
function line(value: string): string {
  return value
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/[\\`*_[\]<>|#]/g, '\\$&');
}

function list(items: string[]): string {
  return items.map((item) => `- ${line(item)}`).join('\n');
}

const COLUMNS = ['#', 'Time', 'Database', 'Query', 'Filters', 'Results', 'New', 'Note'];

function table(receipts: Receipt[]): string {
  if (!receipts.length) return '';
  const rows = receipts.map((receipt) => [
    String(receipt.number),
    text(receipt.timestamp),
    text(receipt.database) + (receipt.mode ? ` (${text(receipt.mode)})` : ''),
    text(receipt.query),
    words(receipt.filters_applied),
    text(receipt.results_count),
    text(receipt.new_count),
    [receipt.preview ? 'short run' : '', words(receipt.warnings)].filter(Boolean).join('; '),
  ]);
  return [COLUMNS, COLUMNS.map(() => '---'), ...rows.map((row) => row.map(line))]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');
}

function words(value: Json | undefined): string {
  return Array.isArray(value) ? value.map(text).join(', ') : text(value);
}

/** Counts in the manner of PRISMA: what was identified, and what of it was distinct. */
function counts(view: GroundingView): string {
  if (!view.receipts.length) return '';
  const identified = view.receipts.reduce(
    (sum, receipt) => sum + (typeof receipt.results_count === 'number' ? receipt.results_count : 0),
    0,
  );
  const { papers, databases } = boxOf(view);
  const lines = [
    `- Records identified: ${identified}, in ${view.receipts.length} searches of ${new Set(view.receipts.map((each) => text(each.database))).size} databases`,
  ];
  if (papers !== null) lines.push(`- Distinct papers: ${papers}`, `- Duplicates: ${Math.max(0, identified - papers)}`);
  if (databases.length) lines.push(`- Databases: ${databases.map(line).join(', ')}`);
  return lines.join('\n');
}
