// A WebSocket with the browser's API, as far as enroute.js needs it, for Node 18 and 20. It sends text messages over TCP (RFC
// 6455), reads unmasked frames and answers pings. It has no TLS, extensions or fragmentation, because tests use it on
// loopback.

import {createHash, randomBytes} from 'node:crypto';
import {connect} from 'node:net';

const MAGIC = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const [TEXT, CLOSE, PING, PONG] = [1, 8, 9, 10];

export class Socket {
  readyState = 0;
  onopen = null; onmessage = null; onclose = null; onerror = null;
  #tcp; #bytes = Buffer.alloc(0); #accepts; #close = {code: 1006, reason: ''};

  constructor(url, protocol) {
    const {hostname, port, pathname} = new URL(url);
    const key = randomBytes(16).toString('base64');
    this.#accepts = createHash('sha1').update(key + MAGIC).digest('base64');
    this.#tcp = connect(Number(port), hostname, () => this.#tcp.write(
      `GET ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n`
      + `Sec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`));
    this.#tcp.on('data', (bytes) => this.#read(bytes));
    this.#tcp.on('error', (error) => this.onerror?.(error));
    this.#tcp.on('close', () => {
      this.readyState = 3;
      this.onclose?.(this.#close);
    });
  }

  get bufferedAmount() { return this.#tcp.writableLength; }

  send(text) { this.#write(TEXT, Buffer.from(text)); }

  close(code = 1000) {
    if (this.readyState === 0) return this.#tcp.destroy();
    this.readyState = 2;
    const frame = Buffer.alloc(2);
    frame.writeUInt16BE(code);
    this.#write(CLOSE, frame);
    this.#tcp.end();
  }

  /** Cuts the connection as a network failure does: the peer receives nothing. */
  cut() { this.#tcp.resetAndDestroy(); }

  #write(kind, payload) {
    const mask = randomBytes(4);
    const head = payload.length < 126
      ? Buffer.from([0x80 | kind, 0x80 | payload.length])
      : Buffer.from([0x80 | kind, 0x80 | 126, payload.length >> 8, payload.length & 255]);
    this.#tcp.write(Buffer.concat([head, mask, payload.map((byte, index) => byte ^ mask[index % 4])]));
  }

  #read(bytes) {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    if (this.readyState === 0 && !this.#upgraded()) return;
    for (let frame = this.#frame(); frame; frame = this.#frame()) {
      switch (frame.kind) {
        case TEXT: this.onmessage?.({data: frame.payload.toString()}); break;
        case PING: this.#write(PONG, frame.payload); break;
        case CLOSE:
          this.#close = {code: frame.payload.readUInt16BE(), reason: frame.payload.subarray(2).toString()};
          if (this.readyState === 1) this.close(this.#close.code);
      }
    }
  }

  #upgraded() {
    const end = this.#bytes.indexOf('\r\n\r\n');
    if (end < 0) return false;
    const answer = this.#bytes.subarray(0, end).toString();
    if (!answer.startsWith('HTTP/1.1 101') || !answer.includes(this.#accepts)) {
      this.#tcp.destroy();
      return false;
    }
    this.#bytes = this.#bytes.subarray(end + 4);
    this.readyState = 1;
    this.onopen?.();
    return true;
  }

  #frame() {
    const bytes = this.#bytes;
    if (bytes.length < 2) return null;
    const short = bytes[1] & 127;
    const head = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (bytes.length < head) return null;
    const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
    if (bytes.length < head + length) return null;
    this.#bytes = bytes.subarray(head + length);
    return {kind: bytes[0] & 15, payload: bytes.subarray(head, head + length)};
  }
}
