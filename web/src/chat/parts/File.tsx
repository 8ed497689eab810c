/** A file of a message: shown if it is here, linked if it is elsewhere. Nothing is fetched from other hosts. */
import { useState } from 'react';
import { Icon } from '../../ui/Icon';
import { KindChip } from '../../ui/Kind';

type Props = { url: string; mediaType: string; filename?: string };

export function File({ url, mediaType, filename }: Props) {
  const [isBroken, setBroken] = useState(false);
  const name = filename || mediaType;
  const onError = () => setBroken(true);
  if (!isHere(url)) return <Elsewhere url={url} name={name} />;
  const kind = isBroken ? 'broken' : mediaType.split('/')[0];
  return (
    <figure className="file" data-kind="media">
      {kind === 'image' && <img src={url} alt={filename || 'Image of this message'} onError={onError} />}
      {kind === 'audio' && <audio src={url} controls preload="metadata" aria-label={name} onError={onError} />}
      {kind === 'video' && <video src={url} controls preload="metadata" aria-label={name} onError={onError} />}
      <figcaption>
        <KindChip kind="media">{name}</KindChip>
        {isBroken && <span className="quiet">This server cannot show it.</span>}
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
    const { protocol, origin } = new URL(url, document.baseURI);
    // From a disk, the origin of everything that is no web address is the same: null.
    return /^https?:$/.test(protocol) && origin === location.origin;
  } catch {
    return false;
  }
}
