"""Compresses as far as deflate goes: `compress.py gzip` filters a stream, `compress.py zip FILE` packs a zip file again."""

import os
import sys
import zipfile

from zopfli import ZOPFLI_FORMAT_GZIP, ZipFile, ZopfliCompressor

# More iterations save a thousandth for each second; blocks without a limit of their number save two.
OPTIONS = {"iterations": 3, "block_splitting_max": 0}


def gzip():
    compressor = ZopfliCompressor(ZOPFLI_FORMAT_GZIP, **OPTIONS)
    sys.stdout.buffer.write(compressor.compress(sys.stdin.buffer.read()) + compressor.flush())


def pack_again(path):
    packed = path + ".packed"
    with zipfile.ZipFile(path) as old, ZipFile(packed, "w", zipfile.ZIP_DEFLATED, **OPTIONS) as new:
        for entry in old.infolist():
            new.writestr(entry, old.read(entry))
    os.replace(packed, path)


if __name__ == "__main__":
    if sys.argv[1] == "gzip":
        gzip()
    else:
        pack_again(sys.argv[2])
