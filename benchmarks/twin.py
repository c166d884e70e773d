#!/usr/bin/env python3
"""Type-checks the gateway on the NIOSSL twin with the modules of a debug build: twin.py ../.build/debug.yaml

A complete build of the twin takes minutes, so CI compiles no code for it. This finds what the twin lacks of SecureSocket.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

TWIN = pathlib.Path(__file__).parent / "NIOSSLTwin"
# The modules that import SecureSocket, each after those that it imports.
USERS = ["WebSocket", "Realtime", "REST", "Gateway"]
# Options of a compilation that writes objects, with the number of words that follow.
WITHOUT = {
    "-c": 0, "-incremental": 0, "-emit-dependencies": 0, "-enable-batch-mode": 0, "-serialize-diagnostics": 0,
    "-parseable-output": 0, "-emit-objc-header": 0, "-output-file-map": 1, "-index-store-path": 1,
    "-emit-objc-header-path": 1, "-emit-module": 0, "-emit-module-path": 1,
}


def compilation(manifest: str, module: str) -> list[str]:
    """Returns the command that compiles a module, without its output."""
    found = re.search(rf'"C\.{module}-[^"]*-debug\.module":.*?\n    args: (\[.*?\])\n', manifest, re.DOTALL)
    if not found:
        sys.exit(f"The manifest has no command for {module}: build the gateway first.")
    words, kept = iter(json.loads(found[1])), []
    for word in words:
        if word in WITHOUT:
            for _ in range(WITHOUT[word]):
                next(words)
        else:
            kept.append(word)
    return kept


def check(command: list[str], module: str, modules: pathlib.Path) -> None:
    # As one module (`-wmo`), because the compiler otherwise reads all files of a module again for each of them.
    for output in [["-emit-module", "-emit-module-path", str(modules / f"{module}.swiftmodule")], ["-typecheck"]]:
        done = subprocess.run([*command, "-wmo", *output], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{module} does not compile with the twin:\n{done.stderr}")


def main() -> None:
    manifest = pathlib.Path(sys.argv[1]).read_text()
    with tempfile.TemporaryDirectory() as folder:
        modules = pathlib.Path(folder)
        for module in ["SecureSocket", *USERS]:
            command = compilation(manifest, "Gateway" if module == "SecureSocket" else module)
            if module == "SecureSocket":
                sources = [str(path) for path in sorted(TWIN.glob("*.swift"))]
                command[command.index("-module-name") + 1] = module
                command = [word for word in command if not word.startswith("@")] + sources
            check([command[0], "-I", folder, *command[1:]], module, modules)
    print(f"{', '.join(USERS)} compile with the twin.")


if __name__ == "__main__":
    main()
