/** A file of a message: shown if it is here, linked if it is elsewhere. Nothing is fetched from other hosts. */
import { useState } from 'react';
import { useAuthorizedUrl } from '../../app/authorizedMedia';
import { Icon } from '../../ui/Icon';
import { KindChip } from '../../ui/Kind';
import * as words from '../../words/chat';

type Props = { url: string; mediaType: string; filename?: string };

export function File({ url, mediaType, filename }: Props) {
  const [isBroken, setBroken] = useState(false);
  const name = filename || mediaType;
  const onError = () => setBroken(true);
  const loaded = useAuthorizedUrl(url, onError);
  if (!isHere(url)) return <Elsewhere url={url} name={name} />;
  const kind = isBroken ? 'broken' : mediaType.split('/')[0];
  return (
    <figure className="file" data-kind="media">
      {loaded && kind === 'image' && <img src={loaded} alt={filename || words.imageOfThisMessage} onError={onError} />}
      {loaded && kind === 'audio' && <audio src={loaded} controls preload="metadata" aria-label={name} onError={onError} />}
      {loaded && kind === 'video' && <video src={loaded} controls preload="metadata" aria-label={name} onError={onError} />}
      <figcaption>
        <KindChip kind="media">{name}</KindChip>
        {isBroken && <span className="quiet">{words.noPreviewAvailable}</span>}
        <a className="button" data-look="quiet" href={loaded || undefined} download={filename || `file.${mediaType.split(/[/+;]/)[1] ?? 'bin'}`}>
          <Icon name="download" /> {words.save}
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
          <Icon name="link" /> {words.onHost(new URL(url).host)}
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
