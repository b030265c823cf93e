// SPDX-License-Identifier: Apache-2.0
// h1_reading.js - how node's HTTP reads whatever bytes: the other half of test_h1_differences.py. The same rows on
// standard input as h1_reading.c, the same lines as answers. No socket: node's server and client are given a stream.
'use strict';
const http = require('http');
const {Duplex} = require('stream');

const LIMITS = {maxHeaderSize: 65536};
const hex = (text) => Buffer.from(text, 'latin1').toString('hex') || '-';
const pairs = (what, list) => {
  const lines = [];
  for (let i = 0; i < list.length; i += 2) lines.push(`${what} ${hex(list[i])} ${hex(list[i + 1])}`);
  return lines;
};

// A connection on which `bytes` come and nothing more will; what is written to it is kept. A client's reads nothing
// before it has written.
class Given extends Duplex {
  constructor(bytes, client) {
    super({allowHalfOpen: true});
    this.given = bytes;
    this.written = '';
    this.waits = client;
  }
  _read() {
    if (this.given === null || this.waits) return;
    const bytes = this.given;
    this.given = null;
    if (bytes.length) this.push(bytes);
    this.push(null);
  }
  _write(chunk, encoding, done) {
    this.written += chunk.toString('latin1');
    done();
    if (this.waits) {
      this.waits = false;
      this._read();
    }
  }
  setTimeout() {}
  setNoDelay() {}
  setKeepAlive() {}
  ref() {}
  unref() {}
}

// One message: its lines are there at once, the body and what follows it as they come.
function follow(message, lines) {
  const body = [];
  const entry = {lines, body, message, whole: false};
  message.on('data', (data) => body.push(data));
  message.on('end', () => { entry.whole = message.complete; });
  message.on('error', () => {});
  return entry;
}

function told(entries, end) {
  const out = [];
  for (const {lines, body, message, whole} of entries) {
    out.push(...lines);
    if (body === null) continue;
    out.push('body ' + Buffer.concat(body).toString('hex'));
    if (whole) out.push(...pairs('trailer', message.rawTrailers), 'whole');
  }
  return [...out, `end ${end}`];
}

async function settled() {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}

async function requests(bytes) {
  const server = http.createServer({...LIMITS, keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0});
  server.maxHeadersCount = 0;
  server.httpAllowHalfOpen = true; // or the end of the bytes keeps answers from being written
  const connection = new Given(bytes), entries = [];
  let end = 'clean', last = null;
  const take = (request, response) => {
    const lines = [`request ${hex(request.method)} ${hex(request.url)} ${request.httpVersionMinor}`];
    entries.push(follow(request, [...lines, ...pairs('field', request.rawHeaders)]));
    last = response;
    request.on('end', () => { response.statusCode = 204; response.end(); });
  };
  server.on('request', take);
  server.on('checkContinue', (request, response) => { response.writeContinue(); take(request, response); });
  server.on('checkExpectation', take);
  server.on('connect', (request, socket) => {
    const lines = [`request ${hex(request.method)} ${hex(request.url)} ${request.httpVersionMinor}`];
    entries.push({lines: [...lines, ...pairs('field', request.rawHeaders)], body: null});
    end = 'tunnel';
  });
  server.on('clientError', (error) => {
    end = error.code === 'HPE_INVALID_EOF_STATE' ? 'more' : error.code === 'HPE_CLOSED_CONNECTION' ? 'closed' : 'refused';
  });
  connection.on('error', () => {});
  server.emit('connection', connection);
  await settled();
  if (end === 'clean' && /(^|\n)HTTP\/1\.1 400 /.test(connection.written)) end = 'refused';
  if (end === 'clean' && last && !last.shouldKeepAlive) end = 'closed';
  connection.destroy();
  server.close();
  return told(entries, end);
}

async function replies(bytes) {
  const connection = new Given(bytes, true), entries = [];
  let end = null;
  const head = (message) => [`reply ${message.statusCode} ${hex(message.statusMessage)} ${message.httpVersionMinor}`,
                             ...pairs('field', message.rawHeaders)];
  const agent = new http.Agent();
  agent.createConnection = () => connection;
  const request = http.request({...LIMITS, host: '192.0.2.1', agent});
  request.maxHeadersCount = 0;
  request.on('information', (message) => {
    entries.push({lines: head(message), body: [], message: {rawTrailers: []}, whole: true});
  });
  request.on('response', (message) => { entries.push(follow(message, head(message))); });
  request.on('upgrade', (message) => {
    entries.push({lines: head(message), body: null});
    end = 'tunnel';
  });
  request.on('error', (error) => {
    end = end || (/^HPE_/.test(error.code) && error.code !== 'HPE_INVALID_EOF_STATE' ? 'refused' : 'more');
  });
  connection.on('error', () => {});
  request.end();
  await settled();
  const final = entries.find((entry) => entry.body !== null && entry.message.rawHeaders);
  if (!end && final) end = final.whole ? 'clean' : 'more';
  if (final && final.whole && end !== 'tunnel') end = 'clean';
  connection.destroy();
  return told(entries, end || 'more');
}

async function main() {
  const input = require('fs').readFileSync(0);
  for (let at = 0; at < input.length;) {
    const line = input.indexOf(10, at);
    const [kind, length] = input.subarray(at, line).toString().split(' ');
    at = line + 1 + Number(length);
    const bytes = Buffer.from(input.subarray(line + 1, at));
    process.stdout.write((await (kind === 'q' ? requests : replies)(bytes)).join('\n') + '\n');
  }
}

main();
