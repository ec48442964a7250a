# SPDX-License-Identifier: GPL-3.0-or-later
"""Espalier for Spack: spack repo add packaging/spack; spack install espalier +cuda cuda_arch=90, or +rocm
amdgpu_target=gfx90a. Spack takes the source from the folder or mirror that holds the tarball of 'make dist': see
packaging/README.md."""
import os

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.rocm import ROCmPackage

from spack.package import *


class Espalier(AutotoolsPackage, CudaPackage, ROCmPackage):
    """N-body simulations of galaxies and star clusters: a tree code for MPI, OpenMP, and GPUs of NVIDIA or AMD, with
    forces split between hard and soft."""

    homepage = "https://example.org/espalier"
    url = "file://{0}/espalier-0.1.0.tar.gz".format(os.getcwd())
    manual_download = True

    license("GPL-3.0-or-later")

    # The tarball is made by hand, so its checksum is not known here: spack install --no-checksum, or add sha256=.
    version("0.1.0")

    variant("hwloc", default=True, description="Report core binding with hwloc")
    variant("tools", default=True, description="Python modules for the plots")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("cxx", type="build", when="+rocm")
    depends_on("pkgconfig", type="build")
    depends_on("mpi@3:")
    depends_on("hdf5@1.10:+mpi")
    depends_on("libinih")
    depends_on("random123")
    depends_on("xxhash")
    depends_on("gsl")
    depends_on("hwloc@2:", when="+hwloc")
    depends_on("cuda@12:", when="+cuda")
    depends_on("rocprim", when="+rocm")
    with when("+tools"):
        depends_on("python@3:", type="run")
        depends_on("py-h5py", type="run")
        depends_on("py-numpy", type="run")
        depends_on("py-matplotlib", type="run")

    conflicts("cuda_arch=none", when="+cuda", msg="name the compute capabilities: cuda_arch=80,90")
    conflicts("+cuda", when="+rocm", msg="a build has kernels of one vendor: +cuda or +rocm")

    def configure_args(self):
        spec = self.spec
        args = ["CC={0}".format(spec["mpi"].mpicc), "--with-hdf5={0}".format(spec["hdf5"].prefix)]
        args.append("--with-hwloc" if spec.satisfies("+hwloc") else "--without-hwloc")
        if spec.satisfies("+cuda"):
            args.append("--with-cuda={0}".format(spec["cuda"].prefix))
            args.append("--with-cuda-arch={0}".format(",".join(spec.variants["cuda_arch"].value)))
        else:
            args.append("--without-cuda")
        if spec.satisfies("+rocm"):
            args.append("--with-hip={0}".format(",".join(spec.variants["amdgpu_target"].value)))
            # hipcc runs without Spack's compiler wrappers, which would add the headers of rocPRIM
            args.append("HIPCC={0} -I{1}".format(spec["hip"].hipcc, spec["rocprim"].prefix.include))
        return args

    def check(self):
        """make check starts up to four ranks, which some build machines do not allow."""
        make("check", parallel=False)

    @run_after("install")
    def sanity(self):
        espalier = Executable(self.prefix.bin.espalier)
        espalier("--version")
