/** Shows or hides how answers came about: thoughts, and changes of the state. */
import { useKeys } from '../app/keys';
import { showDetails, useDetails } from '../chat/details';
import * as words from '../words/workspace';

export function DetailsSwitch() {
  const isShown = useDetails();
  const turn = () => showDetails(!isShown);
  useKeys({ details: turn });
  return (
    <button type="button" className="button" data-look="quiet" aria-pressed={isShown} title={words.thoughtsAndStateChangesD(isShown ? words.hide : words.show)} onClick={turn}>
      {words.details}
    </button>
  );
}
