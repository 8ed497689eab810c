// A proxy between the page and its server: takes a path prefix off, cuts what is open, and goes away.
import http from 'node:http';
import net from 'node:net';

/** Start a proxy to the server `first`, which knows nothing of `prefix`, nor of the files that the proxy has of its own. */
export async function proxy(target, prefix = '', own = {}) {
  const open = new Set();
  let isAway = false;
  const server = http.createServer((request, response) => {
    if (isAway || !request.url.startsWith(`${prefix}/`)) {
      request.destroy();
      return;
    }
    if (Object.hasOwn(own, request.url)) {
      const [type, body] = own[request.url];
      response.writeHead(200, { 'content-type': type }).end(body);
      return;
    }
    const upstream = http.request(target + request.url.slice(prefix.length), { method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
      // What breaks off behind the proxy breaks off before it.
      answer.on('close', () => answer.complete || response.destroy());
    });
    upstream.on('error', () => response.destroy());
    response.on('close', () => upstream.destroy());
    request.pipe(upstream);
  });
  server.on('upgrade', (request, socket, head) => {
    const { hostname, port } = new URL(target);
    const upstream = net.connect(Number(port), hostname, () => {
      const headers = request.rawHeaders.map((word, i) => (i % 2 ? `: ${word}\r\n` : word)).join('');
      upstream.write(`GET ${request.url.slice(prefix.length)} HTTP/1.1\r\n${headers}\r\n`);
      upstream.write(head);
      socket.pipe(upstream).pipe(socket);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('error', () => upstream.destroy());
    socket.on('close', () => upstream.destroy());
  });
  server.on('connection', (socket) => {
    if (isAway) socket.destroy();
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  const cut = () => open.forEach((socket) => socket.destroy());
  return {
    url: `http://127.0.0.1:${server.address().port}${prefix}`,
    cut,
    leave() {
      isAway = true;
      cut();
    },
    comeBack() {
      isAway = false;
    },
    /** Ask another server from now on. */
    turnTo(other) {
      target = other;
    },
    close() {
      cut();
      server.close();
    },
  };
}
