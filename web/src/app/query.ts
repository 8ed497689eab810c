/**
 * How the page reads data of its server: by a key, once for all who show it, and again when that is asked for. Some
 * data have a way of their own: films and chats, which are streams that grow and are resumed (`useFilm.ts`,
 * `conversation.ts`);
 * bytes, which are released when they are no longer shown (`useAuthorizedUrl`, `Preview.tsx`); and the search, which
 * waits until the typing rests and adds pages (`SearchPage.tsx`).
 */
import { keepPreviousData, QueryClient, useQuery, type UseQueryResult } from '@tanstack/react-query';

export const queries = new QueryClient({
  defaultOptions: {
    // Whether there is a network is the server's to say: it may be on this machine. What fails is shown, with its
    // reason.
    queries: { networkMode: 'always', retry: false, refetchOnReconnect: false },
  },
});

type Options<Data> = {
  enabled?: boolean;
  /** Milliseconds in which what is known is taken as it is; 0: every component that appears asks again. */
  staleTime?: number;
  refetchInterval?: (data: Data | undefined) => number | false;
  /** Show what is known of another key until this one is loaded. */
  keepPrevious?: boolean;
  /** Ask again when the page comes back into view. */
  refetchOnFocus?: boolean;
  /** Return what is shown of new data, where parts that are as they were stay the same objects. */
  merge?: (known: Data, next: Data) => Data;
};

/** Return data of the server, as a function loads it. */
export function useServerData<Data>(
  key: readonly unknown[],
  load: (signal: AbortSignal) => Promise<Data>,
  { enabled, staleTime, refetchInterval, keepPrevious, refetchOnFocus = false, merge }: Options<Data> = {},
): UseQueryResult<Data> {
  return useQuery(
    {
      queryKey: key,
      queryFn: ({ signal }) => load(signal),
      enabled,
      staleTime,
      refetchInterval: (query: { state: { data: Data | undefined } }) => refetchInterval?.(query.state.data) ?? false,
      refetchOnWindowFocus: refetchOnFocus,
      ...(merge && { structuralSharing: (known, next) => merge((known ?? next) as Data, next as Data) }),
      placeholderData: keepPrevious ? keepPreviousData : undefined,
    },
    queries,
  );
}
