// A moving picture of PNG screenshots: an APNG, which browsers and GitHub show like any PNG.
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function* chunksOf(png) {
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    yield { type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) };
    at += length + 12;
  }
}

function chunk(type, ...parts) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), ...parts]);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length - 4);
  const tail = Buffer.alloc(4);
  tail.writeUInt32BE(crc32(body));
  return Buffer.concat([head, body, tail]);
}

const numbers = (...values) => {
  const buffer = Buffer.alloc(4 * values.length);
  values.forEach((value, index) => buffer.writeUInt32BE(value, 4 * index));
  return buffer;
};

/** The pixels of a screenshot, row by row: of eight bits each, as browsers write them. */
function pixelsOf(png) {
  const chunks = [...chunksOf(png)];
  const header = chunks[0].data;
  const [width, height, bytes] = [header.readUInt32BE(0), header.readUInt32BE(4), { 2: 3, 6: 4 }[header[9]]];
  if (header[8] !== 8 || !bytes || header[12] !== 0) throw new Error('not a screenshot of eight bits for each colour');
  const data = inflateSync(Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data)));
  const stride = width * bytes;
  const rows = [];
  for (let y = 0; y < height; y++) {
    const start = y * (stride + 1);
    rows.push(unfiltered(data[start], data.subarray(start + 1, start + 1 + stride), rows[y - 1], bytes));
  }
  return { width, height, bytes, rows };
}

/** Undo one of PNG's five filters. */
function unfiltered(filter, row, above, bytes) {
  const found = Buffer.from(row);
  for (let x = 0; x < found.length; x++) {
    const left = x < bytes ? 0 : found[x - bytes];
    const up = above ? above[x] : 0;
    const corner = above && x >= bytes ? above[x - bytes] : 0;
    found[x] += [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
  }
  return found;
}

function paeth(left, up, corner) {
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

/** The part of a picture that differs from the one before, in pixels; all of the first picture. */
function changed({ width, height, bytes, rows }, before) {
  if (!before) return { left: 0, top: 0, width, height };
  const differing = rows.flatMap((row, y) => (row.equals(before.rows[y]) ? [] : [y]));
  if (differing.length === 0) return { left: 0, top: 0, width: 1, height: 1 };
  let [first, last] = [width, 0];
  for (const y of differing) {
    const [row, old] = [rows[y], before.rows[y]];
    const firstByte = row.findIndex((value, x) => value !== old[x]);
    const lastByte = row.findLastIndex((value, x) => value !== old[x]);
    first = Math.min(first, Math.floor(firstByte / bytes));
    last = Math.max(last, Math.floor(lastByte / bytes));
  }
  return { left: first, top: differing[0], width: last - first + 1, height: differing.at(-1) - differing[0] + 1 };
}

/** `frames` are `{ png, seconds }`, all of one size; the picture repeats for ever. */
export function animated(frames) {
  const pictures = frames.map(({ png }) => pixelsOf(png));
  const { width, height, bytes } = pictures[0];
  const header = Buffer.concat([numbers(width, height), Buffer.from([8, bytes === 3 ? 2 : 6, 0, 0, 0])]);
  const parts = [SIGNATURE, chunk('IHDR', header), chunk('acTL', numbers(frames.length, 0))];
  let number = 0;
  pictures.forEach((picture, index) => {
    if (picture.width !== width || picture.height !== height || picture.bytes !== bytes) throw new Error('frames of two sizes');
    const part = changed(picture, pictures[index - 1]);
    const time = Buffer.alloc(6);
    time.writeUInt16BE(Math.round(frames[index].seconds * 100), 0);
    time.writeUInt16BE(100, 2);
    parts.push(chunk('fcTL', numbers(number++, part.width, part.height, part.left, part.top), time));
    const rows = picture.rows
      .slice(part.top, part.top + part.height)
      .map((row) => row.subarray(part.left * bytes, (part.left + part.width) * bytes));
    const data = deflateSync(Buffer.concat(rows.flatMap((row, at) => filtered(row, rows[at - 1]))), { level: 9 });
    parts.push(index === 0 ? chunk('IDAT', data) : chunk('fdAT', numbers(number++), data));
  });
  return Buffer.concat([...parts, chunk('IEND')]);
}

/** A row with PNG's filter "up": most rows of a page are like the one above. The first of a frame has none above. */
function filtered(row, above) {
  if (!above) return [Buffer.from([0]), row];
  return [Buffer.from([2]), Buffer.from(row.map((value, x) => value - above[x]))];
}
