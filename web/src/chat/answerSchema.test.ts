import { expect, test } from 'vitest';
import { fieldsOf, readAnswer, readField, readForm, textsOf, type Schema } from './answerSchema';
import { signedIn, signIn } from './parts/CredentialRequest';

test('an answer is JSON, or an object with the text', () => {
  expect(readAnswer(' {"a": 1} ')).toEqual({ a: 1 });
  expect(readAnswer('Lisbon')).toEqual({ result: 'Lisbon' });
});

test('a flat schema is a form; any other is not', () => {
  expect(
    fieldsOf({
      properties: { guests: { type: 'integer' }, kind: { enum: ['a', 2] }, on: { type: ['boolean', 'null'] } },
    }),
  ).toHaveLength(3);
  expect(fieldsOf({ properties: { inner: { type: 'object' } } })).toBeNull();
  expect(fieldsOf({ type: 'string' })).toBeNull();
});

test('fields are read as their schema wants', () => {
  expect(readField({ type: 'integer' }, '4')).toBe(4);
  expect(readField({ type: 'integer' }, '')).toBeUndefined();
  expect(readField({ type: 'boolean' }, 'true')).toBe(true);
  expect(readField({ enum: ['a', 2] }, '2')).toBe(2);
});

test('a sign-in leads to web addresses only', () => {
  const config = (authUri: string) => ({
    authConfig: { exchangedAuthCredential: { authType: 'oauth2', oauth2: { authUri } } },
  });
  expect(signIn(config('https://a.example/x')).address).toBe('https://a.example/x');
  expect(signIn(config('javascript:alert(1)')).address).toBe('');
  const asked = signIn(config('https://a.example/x'));
  expect(signedIn(asked, 'https://back')).toMatchObject({
    exchangedAuthCredential: { oauth2: { authResponseUri: 'https://back' } },
  });
});

test('a form begins with its sample, and keeps empty texts where every field is wanted', () => {
  const fields: [string, Schema][] = [
    ['days', { type: 'number' }],
    ['comment', { type: 'string' }],
  ];
  const texts = textsOf(fields, { days: 0, comment: '' });
  expect(readForm(fields, texts, true)).toEqual({ days: 0, comment: '' });
  expect(readForm(fields, texts, false)).toEqual({ days: 0 });
  expect(textsOf(null, { range: { first: 1 } })).toEqual({ '': '{"range":{"first":1}}' });
});
