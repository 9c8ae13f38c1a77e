# Spack: var/spack/repos/builtin/packages/assay/package.py
from spack.package import *


class Assay(CargoPackage):
    """Benchmarks a Linux machine: CPU, LINPACK, memory, disk, network."""

    homepage = "https://example.org/assay"
    url = "https://example.org/assay/assay-0.1.0.tar.gz"

    license("MIT OR Apache-2.0")

    # spack checksum assay
    version("0.1.0", sha256="0" * 64)

    depends_on("rust@1.89:", type="build")

    conflicts("platform=darwin", msg="it reads Linux's /proc and /sys")

    @property
    def build_args(self):
        return ["--locked", "--path", "crates/cli"]
