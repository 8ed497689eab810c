/** Zod schemas of our data parts and metadata: `useChat({ dataPartSchemas, messageMetadataSchema })`. */
import type * as z from 'zod';
import type { PrismDataParts, PrismMetadata } from './prism.ts';
import { prismDataParts, prismMetadata } from './schemas.ts';

/** By the part's name, without `data-`. */
export const dataPartSchemas: { [NAME in keyof PrismDataParts]: z.ZodType<PrismDataParts[NAME]> } = prismDataParts.shape;

export const messageMetadataSchema: z.ZodType<PrismMetadata> = prismMetadata;
