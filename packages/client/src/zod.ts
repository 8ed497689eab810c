/** Zod schemas of our data parts and metadata: `useChat({ dataPartSchemas, messageMetadataSchema })`. */
import * as z from 'zod';
import type { PrismDataParts, PrismMetadata } from './prism.ts';
import { prismDataParts, prismMetadata } from './schemas.ts';

/** By the part's name, without `data-`. */
export const dataPartSchemas: { [NAME in keyof PrismDataParts]: z.ZodType<PrismDataParts[NAME]> } =
  prismDataParts.shape;

/** What a message of the user has is up to the page: anything that is not the metadata of a run, or nothing. */
const isOfUser = (metadata: unknown) => typeof metadata !== 'object' || metadata === null || !('runId' in metadata);

/** Of answers, and of the user's messages, which `validateUIMessages` asks for as well. */
export const messageMetadataSchema = z.union([prismMetadata, z.unknown().refine(isOfUser)]) as z.ZodType<PrismMetadata>;
