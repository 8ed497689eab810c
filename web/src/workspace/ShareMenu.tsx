/** Everything that can be taken away from a run: a link, a command, a file. */
import { useId, useRef, type ReactNode } from 'react';
import { useCommands } from '../app/commands';
import { call, hasToken, ticketed } from '../app/server';
import { useFeatures } from '../features/registry';
import { Icon, type IconName } from '../ui/Icon';
import { copyText } from '../ui/Copy';

type Item = { icon: IconName; word: string } & (
  | { copy: () => string }
  | { link: string }
  | { href: string; download?: string; edit?: (text: string) => Promise<string> }
  | { save: () => string; name: string; type: string }
);

type Props = { run: string | null; app: string; items: readonly Item[] };

export type ShareItem = Item;

export function ShareMenu({ run, app, items }: Props) {
  const features = useFeatures();
  const id = useId();
  const menu = useRef<HTMLDivElement>(null);
  const all: Item[] = [{ icon: 'share', word: 'Copy a link to this moment', copy: () => location.href }, ...items];
  if (run) all.push(...features.flatMap(({ runActions }) => runActions?.(run, app) ?? []));
  useCommands(() =>
    all.map((item) => ({
      id: `of this run: ${item.word}`,
      group: 'Actions',
      title: item.word.replace(/…$/, ''),
      hint: 'this run, message',
      icon: item.icon,
      run: () => act(menu.current, item.word),
    })),
  );
  const place = (button: HTMLElement) => {
    const { bottom, right } = button.getBoundingClientRect();
    menu.current?.style.setProperty('top', `${bottom}px`);
    menu.current?.style.setProperty('right', `${Math.max(8, innerWidth - right)}px`);
  };
  return (
    <>
      <button
        type="button"
        className="button"
        data-look="quiet"
        popoverTarget={id}
        title="Share and export"
        onClick={(event) => place(event.currentTarget)}
      >
        <Icon name="share" /> <span>Share</span>
      </button>
      <div
        id={id}
        ref={menu}
        className="menu"
        popover="auto"
        role="group"
        aria-label="Share and export"
        onClick={() => menu.current?.hidePopover()}
      >
        {all.map((item) => (
          <Entry key={item.word} item={item} />
        ))}
      </div>
    </>
  );
}

/** Do what an entry of the menu does: one way for the mouse, the keyboard and the palette. */
function act(menu: HTMLElement | null, word: string): void {
  const entries = [...(menu?.querySelectorAll<HTMLElement>('a, button') ?? [])];
  entries.find((entry) => entry.textContent?.trim() === word)?.click();
}

function Entry({ item }: { item: Item }): ReactNode {
  const face = (
    <>
      <Icon name={item.icon} /> {item.word}
    </>
  );
  if ('link' in item) return <a href={item.link}>{face}</a>;
  if ('href' in item) {
    return (
      <a
        href={item.href}
        download={item.download}
        onClick={(event) =>
          item.edit ? void saveEdited(event, item) : hasToken() && void saveOwned(event, item.href, item.download)
        }
      >
        {face}
      </a>
    );
  }
  const act = () => {
    if ('copy' in item) void copyText(item.copy());
    else saveText(item.save(), item.name, item.type);
  };
  return (
    <button type="button" onClick={act}>
      {face}
    </button>
  );
}

/** Save a file as this page completes it; where that fails, as the server has it. */
async function saveEdited(
  event: { preventDefault(): void },
  { href, download = '', edit }: { href: string; download?: string; edit?: (text: string) => Promise<string> },
): Promise<void> {
  event.preventDefault();
  try {
    const answer = await call(href);
    if (!answer.ok || !edit) throw new Error(`The file could not be loaded (${answer.status}).`);
    saveText(await edit(await answer.text()), nameOf(answer) ?? download, 'text/html');
  } catch {
    await saveOwned(event, href, download); // The browser says what is wrong with it, if anything is.
  }
}

/** Save what only its owner may have: the browser fetches it by itself, with a ticket. */
async function saveOwned(event: { preventDefault(): void }, href: string, name = ''): Promise<void> {
  event.preventDefault();
  const link = document.createElement('a');
  link.href = await ticketed(href);
  link.download = name;
  link.click();
}

/** The name that the server gives to a file. */
function nameOf(answer: Response): string | null {
  const encoded = /filename\*=UTF-8''([^;]+)/.exec(answer.headers.get('content-disposition') ?? '');
  return encoded ? decodeURIComponent(encoded[1]!) : null;
}

function saveText(text: string, name: string, type: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
