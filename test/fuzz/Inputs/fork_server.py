# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
from mutate_inputs import ForkServer

server = ForkServer(sys.argv[2], "/bin/sh")
for script in ("true", "echo no >&2; exit 3", "kill -SEGV $$", "sleep 60", "echo preloaded: $LD_PRELOAD >&2; exit 2", "true"):
    try:
        code, said = server.run(["sh", "-c", script], 1, Path(sys.argv[3]))
        print("%s: code %d%s" % (script, code, ", said " + said.decode().strip() if code else ""))
    except subprocess.TimeoutExpired:
        print("%s: a hang" % script)
server.close()
