/** Tools that the browser itself can run, by name. Any other is answered by the person. */
import * as words from '../words/chat';

export type ClientTool = {
  /** What the button says that runs it. */
  action: string;
  run(input: unknown): Promise<unknown>;
};

export const CLIENT_TOOLS: Readonly<Record<string, ClientTool>> = {
  get_location: { action: words.shareThisDevicesLocation, run: location },
};

/** Degrees are rounded for a city: about a kilometre. */
const CITY_DIGITS = 2;

async function location(input: unknown): Promise<unknown> {
  const exact = (input as { accuracy?: unknown } | null)?.accuracy === 'exact';
  const { coords } = await new Promise<GeolocationPosition>((resolve, reject) => {
    if (!('geolocation' in navigator)) reject(new Error(words.browserCannotProvideALocation));
    else navigator.geolocation.getCurrentPosition(resolve, (error) => reject(new Error(error.message)), { enableHighAccuracy: exact, timeout: 15_000 });
  });
  const digits = exact ? 6 : CITY_DIGITS;
  return { latitude: round(coords.latitude, digits), longitude: round(coords.longitude, digits), accuracyMetres: Math.round(coords.accuracy) };
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
