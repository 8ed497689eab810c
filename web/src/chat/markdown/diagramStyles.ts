/** The style sheet of the diagram that is being drawn: in force while it is measured, then a part of the picture. */

let adopted: CSSStyleSheet | null = null;

/** Put a diagram's style sheet in force. Only what is said of the diagram itself is: it stands in the page for a moment. */
export function adopt(rules: string, id: string): void {
  release();
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(rules);
  for (let at = sheet.cssRules.length - 1; at >= 0; at -= 1) if (!isOwn(sheet.cssRules[at]!, id)) sheet.deleteRule(at);
  document.adoptedStyleSheets.push(sheet);
  adopted = sheet;
}

function isOwn(rule: CSSRule, id: string): boolean {
  if (/url\(|image-set\(/i.test(rule.cssText.replace(/url\("?#/gi, ''))) return false;
  if (rule instanceof CSSKeyframesRule) return true;
  return rule instanceof CSSStyleRule && rule.selectorText.split(',').every((selector) => selector.trim().startsWith(`#${id}`));
}

/** Take the style sheet out of the page; return what it says. */
export function release(): string {
  if (!adopted) return '';
  const rules = [...adopted.cssRules].map((rule) => rule.cssText).join('\n');
  document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== adopted);
  adopted = null;
  return rules;
}
