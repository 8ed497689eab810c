/** The box to write in: text and files; Enter sends. */
import { useRef, useState } from 'react';
import { ArrowUp, Paperclip, Square } from 'lucide-react';

type Message = { text: string; files?: FileList };
type Props = { isBusy: boolean; onSend: (message: Message) => void; onStop: () => void };

export function PromptInput({ isBusy, onSend, onStop }: Props) {
  const form = useRef<HTMLFormElement>(null);
  const [names, setNames] = useState<string[]>([]);

  function send() {
    const { elements } = form.current!;
    const { value: text } = elements.namedItem('text') as HTMLTextAreaElement;
    const { files } = elements.namedItem('files') as HTMLInputElement;
    if (isBusy || !text.trim()) return;
    onSend({ text, ...(files?.length && { files }) });
    form.current!.reset();
    setNames([]);
  }

  return (
    <form ref={form} onSubmit={(event) => (event.preventDefault(), send())} className="mx-auto mb-6 w-full max-w-3xl rounded-xl border p-2 shadow-xs">
      {names.map((name) => <span key={name} className="mr-1 rounded-md border bg-muted px-2 py-1 text-xs">{name}</span>)}
      <textarea
        name="text"
        rows={2}
        autoFocus
        aria-label="Message"
        placeholder="What would you like to know? Try: help"
        className="block w-full resize-none p-2 outline-none"
        onKeyDown={(event) => event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing && (event.preventDefault(), send())}
      />
      <div className="flex items-center justify-between">
        <label className="cursor-pointer rounded-md p-2 text-muted-foreground hover:bg-muted">
          <Paperclip size={16} />
          <input name="files" type="file" multiple aria-label="Files" className="sr-only" onChange={(event) => setNames(Array.from(event.target.files ?? [], ({ name }) => name))} />
        </label>
        {isBusy ? (
          <button type="button" aria-label="Stop" onClick={onStop} className="rounded-md bg-primary p-2 text-white"><Square size={16} /></button>
        ) : (
          <button aria-label="Send" className="rounded-md bg-primary p-2 text-white"><ArrowUp size={16} /></button>
        )}
      </div>
    </form>
  );
}
