// tus-js-client, and `uploadFile` of @adk-prism/client, send a file over a connection that is cut in the middle.
// Reads the port of the server and the app from the command line; writes what each got, as JSON.
import { createHash, randomBytes } from 'node:crypto';
import net from 'node:net';
import { Upload } from 'tus-js-client';
import { uploadFile } from '../../packages/client/src/uploads.ts';

const [port, app] = process.argv.slice(2);
const SIZE = 3_000_000;
const data = randomBytes(SIZE);
const digest = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** Listen before the server; end one connection when `after` bytes of all have passed. */
function cutting(after) {
  let passed = 0;
  let cuts = 0;
  const proxy = net.createServer((client) => {
    const server = net.connect(Number(port), '127.0.0.1');
    const end = () => { client.destroy(); server.destroy(); };
    client.on('data', (piece) => {
      passed += piece.length;
      if (!cuts && passed > after) { cuts += 1; end(); } else server.write(piece);
    });
    server.on('data', (piece) => client.write(piece));
    for (const each of [client, server]) each.on('error', end).on('close', end);
  });
  const listening = new Promise((resolve) => proxy.listen(0, '127.0.0.1', () => resolve(proxy.address().port)));
  return { proxy, listening, cuts: () => cuts };
}

const found = {};

async function trial(name, send) {
  const { proxy, listening, cuts } = cutting(SIZE / 2);
  const server = `http://127.0.0.1:${await listening}`;
  const progress = [];
  const url = await send(server, (sent) => progress.push(sent));
  const got = Buffer.from(await (await fetch(url)).arrayBuffer());
  found[name] = { same: digest(got) === digest(data), cuts: cuts(), end: progress.at(-1), url };
  proxy.close();
  proxy.closeAllConnections?.();
}

await trial('tus-js-client', (server, onProgress) => new Promise((resolve, reject) => {
  const upload = new Upload(data, {
    endpoint: `${server}/api/uploads/${app}`,
    retryDelays: [0, 10, 100],
    metadata: { filename: 'report.pdf', filetype: 'application/pdf' },
    onProgress,
    onError: reject,
    onSuccess: () => resolve(upload.url),
  });
  upload.start();
}));

await trial('adk-prism', async (server, onProgress) => {
  const file = new File([data], 'report.pdf', { type: 'application/pdf' });
  return (await uploadFile({ server, app }, file, { onProgress, pieceSize: 1_000_000 })).url;
});

// One that is stopped is removed; one that was begun is gone on with.
const server = `http://127.0.0.1:${port}`;
const stopping = new AbortController();
let stopped = '';
try {
  await uploadFile({ server, app }, new Blob([data]), {
    pieceSize: 1_000_000,
    signal: stopping.signal,
    onBegun: (id) => { stopped = id; },
    onProgress: (sent) => sent > 0 && stopping.abort(new Error('stopped')),
  });
} catch (error) {
  found.stopped = [error.message, (await fetch(`${server}/api/uploads/${app}/${stopped}`)).status];
}

const begun = await fetch(`${server}/api/uploads/${app}`, {
  method: 'POST', headers: { 'tus-resumable': '1.0.0', 'upload-length': String(SIZE) },
});
const place = begun.headers.get('location');
await fetch(place, {
  method: 'PATCH',
  headers: { 'tus-resumable': '1.0.0', 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' },
  body: data.subarray(0, 1000),
});
const progress = [];
await uploadFile({ server, app }, new Blob([data]), {
  resume: place.split('/').at(-1), onProgress: (sent) => progress.push(sent),
});
found.resumed = [progress[0], progress.at(-1)];

try {
  await uploadFile({ server, app }, new Blob([]));
} catch (error) {
  found.refused = [error.status, error.message];
}
console.log(JSON.stringify(found));
process.exit(0);
