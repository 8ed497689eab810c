/** A file of the person's device, as a part of a message. */
import type { FileUIPart } from 'ai';
import * as words from '../words/chat';

export function filePart(file: File): Promise<FileUIPart> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ type: 'file', mediaType: file.type || 'application/octet-stream', filename: file.name, url: String(reader.result) });
    reader.onerror = () => reject(reader.error ?? new Error(words.couldNotBeRead(file.name)));
    reader.readAsDataURL(file);
  });
}
