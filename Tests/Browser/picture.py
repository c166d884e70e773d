"""Records the stage of `enroute demo` for README.md: an animated WebP of it, and still pictures in light and dark.

Chromium encodes the frames, each cropped to what changed since the previous one; this program only puts them into the
container (https://developers.google.com/speed/webp/docs/riff_container). So it needs nothing that the tests do not need.
"""

import argparse
import base64
import struct
import sys
import tempfile
import threading
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from demo import Demo
from devices import ARGUMENTS, CHROMIUM

ROOT = Path(__file__).resolve().parents[2]
# Of the recorded page, and the factor by which the picture is smaller.
PAGE_WIDTH, PAGE_HEIGHT, SCALE = 1440, 800, 0.6
WIDTH, HEIGHT = round(PAGE_WIDTH * SCALE), round(PAGE_HEIGHT * SCALE)
MOST_BYTES = 700_000
# How long the order takes until its rider is on the way.
UNDERWAY_MS = 180_000
# Qualities of the encoder, tried from the best until the picture is small enough.
QUALITIES = (0.8, 0.7, 0.6, 0.5, 0.4, 0.3)

# Encodes a screenshot: returns null if nothing changed, otherwise the rectangle that changed and its WebP image. The
# format requires even coordinates.
ENCODE = """async ([png, quality, isFirst, width, height]) => {
  const bytes = Uint8Array.from(atob(png), (character) => character.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], {type: 'image/png'}));
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d', {alpha: false, willReadFrequently: true});
  context.imageSmoothingQuality = 'high';
  context.drawImage(bitmap, 0, 0, width, height);
  const pixels = new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
  const before = isFirst ? null : globalThis.before;
  globalThis.before = pixels;
  let [left, top, right, bottom] = before ? [width, height, -1, -1] : [0, 0, width - 1, height - 1];
  if (before) {
    for (let y = 0; y < height; y += 1) {
      for (let x = 0; x < width; x += 1) {
        if (pixels[y * width + x] === before[y * width + x]) continue;
        left = Math.min(left, x); right = Math.max(right, x);
        top = Math.min(top, y); bottom = Math.max(bottom, y);
      }
    }
  }
  if (right < 0) return null;
  left -= left % 2; top -= top % 2;
  const part = new OffscreenCanvas(right - left + 1, bottom - top + 1);
  part.getContext('2d', {alpha: false}).drawImage(canvas, -left, -top);
  const blob = await part.convertToBlob({type: 'image/webp', quality});
  const encoded = new Uint8Array(await blob.arrayBuffer());
  let text = '';
  for (const byte of encoded) text += String.fromCharCode(byte);
  return {x: left, y: top, width: part.width, height: part.height, webp: btoa(text)};
}"""


def chunk(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def three(number: int) -> bytes:
    return struct.pack("<I", number)[:3]


def bitstream(webp: bytes) -> bytes:
    """The chunk with the image, out of a still WebP file. The other chunks are about colors and metadata."""
    position = 12
    while position < len(webp):
        name, size = webp[position:position + 4], struct.unpack("<I", webp[position + 4:position + 8])[0]
        if name in (b"VP8 ", b"VP8L"):
            return chunk(name, webp[position + 8:position + 8 + size])
        position += 8 + size + size % 2
    sys.exit("Chromium encoded a WebP file without an image.")


def animation(frames: list[tuple[dict, int]]) -> bytes:
    """An animated WebP file that repeats for ever; each frame with its duration in ms."""
    body = chunk(b"VP8X", bytes([2, 0, 0, 0]) + three(WIDTH - 1) + three(HEIGHT - 1))
    body += chunk(b"ANIM", bytes(4) + struct.pack("<H", 0))
    for frame, duration in frames:
        head = three(frame["x"] // 2) + three(frame["y"] // 2) + three(frame["width"] - 1) + three(frame["height"] - 1)
        # The last byte: do not blend with the frame before.
        body += chunk(b"ANMF", head + three(duration) + b"\x02" + bitstream(base64.b64decode(frame["webp"])))
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def record(page: Page, seconds: float, rate: float) -> list[tuple[str, float]]:
    """Screenshots as base64, and when each was taken."""
    shots, start, pause = [], time.monotonic(), threading.Event()
    while (now := time.monotonic() - start) < seconds:
        shots.append((base64.b64encode(page.screenshot()).decode(), now))
        pause.wait(max(0.0, len(shots) / rate - (time.monotonic() - start)))
    return shots


def encode(page: Page, shots: list[tuple[str, float]], quality: float) -> bytes:
    frames: list[tuple[dict, int]] = []
    ends = [moment for _, moment in shots[1:]] + [shots[-1][1] + 1]
    for index, ((shot, moment), end) in enumerate(zip(shots, ends)):
        duration = round((end - moment) * 1000)
        if frame := page.evaluate(ENCODE, [shot, quality, index == 0, WIDTH, HEIGHT]):
            frames.append((frame, duration))
        else:
            frames[-1] = (frames[-1][0], frames[-1][1] + duration)
    return animation(frames)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--enroute", default=str(ROOT / ".build/debug/enroute"), help="the program")
    parser.add_argument("--output", type=Path, default=ROOT / "deploy/pages/stage.webp")
    parser.add_argument("--seconds", type=float, default=16, help="how long the recording is")
    parser.add_argument("--rate", type=float, default=4, help="pictures a second")
    parser.add_argument("--speed", default="4", help="of the demo")
    parser.add_argument("--stills", type=Path, help="folder for stage-light.png and stage-dark.png; none by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        demo = Demo(Path(folder), speed=options.speed, program=options.enroute)
        try:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            context = browser.new_context(viewport={"width": PAGE_WIDTH, "height": PAGE_HEIGHT}, locale="en-US")
            page, encoder = context.new_page(), browser.new_page()
            page.goto(demo.url)
            page.frame_locator("#customer").locator("#map .rider").first.wait_for(timeout=UNDERWAY_MS)
            if options.stills:
                for theme in ("dark", "light"):
                    page.emulate_media(color_scheme=theme)
                    page.screenshot(path=options.stills / f"stage-{theme}.png")
            shots = record(page, options.seconds, options.rate)
            for quality in QUALITIES:
                picture = encode(encoder, shots, quality)
                if len(picture) <= MOST_BYTES:
                    break
            else:
                sys.exit(f"The picture has {len(picture)} bytes, more than {MOST_BYTES}. Record fewer seconds.")
        finally:
            demo.close()
    options.output.write_bytes(picture)
    print(f"{options.output}: {len(picture)} bytes, {len(shots)} pictures, quality {quality}")


if __name__ == "__main__":
    main()
