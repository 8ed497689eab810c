/** A file of a message: shown if it is here, linked if it is elsewhere. Nothing is fetched from other hosts. */
import { KindChip } from '../../ui/Kind';
import { Icon } from '../../ui/Icon';

type Props = { url: string; mediaType: string; filename?: string };

export function File({ url, mediaType, filename }: Props) {
  const name = filename || mediaType;
  if (!isHere(url)) return <Elsewhere url={url} name={name} />;
  const kind = mediaType.split('/')[0];
  return (
    <figure className="file" data-kind="media">
      {kind === 'image' && <img src={url} alt={filename || 'Image of this message'} />}
      {kind === 'audio' && <audio src={url} controls preload="metadata" aria-label={name} />}
      {kind === 'video' && <video src={url} controls preload="metadata" aria-label={name} />}
      <figcaption>
        <KindChip kind="media">{name}</KindChip>
        <a className="button" data-look="quiet" href={url} download={filename || `file.${mediaType.split(/[/+;]/)[1] ?? 'bin'}`}>
          <Icon name="download" /> Save
        </a>
      </figcaption>
    </figure>
  );
}

function Elsewhere({ url, name }: { url: string; name: string }) {
  const isWeb = /^https?:/i.test(url) && URL.canParse(url);
  return (
    <p className="note" data-kind="media">
      <KindChip kind="media">{name}</KindChip>
      {isWeb ? (
        <a href={url} target="_blank" rel="noopener noreferrer nofollow">
          <Icon name="link" /> on {new URL(url).host}
        </a>
      ) : (
        <code>{url.slice(0, 200)}</code>
      )}
    </p>
  );
}

/** Tell whether a file comes with the message or from this server. */
export function isHere(url: string): boolean {
  if (url.startsWith('data:') || url.startsWith('blob:')) return true;
  try {
    return new URL(url, document.baseURI).origin === location.origin;
  } catch {
    return false;
  }
}
