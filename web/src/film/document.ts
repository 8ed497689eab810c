/** The film as the server writes it. */
export * from '@adk-prism/client/film';
