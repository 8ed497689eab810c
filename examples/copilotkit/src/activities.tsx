/** What AG-UI has no message for comes as activities: files that the agent shows, and sources. */
import type { ReactActivityMessageRenderer } from '@copilotkit/react-core/v2';
import { z } from 'zod';

const file = z.object({ url: z.string().optional(), mediaType: z.string(), filename: z.string().optional() });
const sources = z.object({ sources: z.array(z.object({ id: z.string(), type: z.string(), uri: z.string(), title: z.string() })).default([]) });

const FILE: ReactActivityMessageRenderer<z.infer<typeof file>> = {
  activityType: 'adk.file',
  content: file,
  render: ({ content: { url, mediaType, filename = 'file' } }) => (mediaType.startsWith('image/') ? <img src={url} alt={filename} /> : <a href={url}>{filename}</a>),
};

const SOURCES: ReactActivityMessageRenderer<z.infer<typeof sources>> = {
  activityType: 'adk.sources',
  content: sources,
  render: ({ content }) => <>{content.sources.filter(({ type }) => type === 'url').map(({ id, uri, title }) => <p key={id}>Source: <a href={uri}>{title}</a></p>)}</>,
};

export const ACTIVITIES = [FILE, SOURCES];
