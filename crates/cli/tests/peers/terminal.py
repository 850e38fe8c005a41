"""Runs a command on a terminal of its own, and writes what the terminal got; ends as the command ends.

terminal.py WIDTH MARK TIMES ANSWER WORD...: the terminal has WIDTH columns, and ANSWER is typed once MARK was drawn TIMES times (0: never).
"""

import fcntl
import os
import pty
import struct
import sys
import termios

width, mark, times, answer = int(sys.argv[1]), sys.argv[2].encode(), int(sys.argv[3]), sys.argv[4]
words = sys.argv[5:]
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    os.execv(words[0], words)
seen, waits = b"", times > 0
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    seen += piece
    if waits and seen.count(mark) >= times:
        waits = False
        os.write(terminal, answer.encode() + b"\n")
sys.stdout.buffer.write(seen)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
