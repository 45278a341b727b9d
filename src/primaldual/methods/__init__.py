"""All methods by name, in the order the documentation lists them."""

from __future__ import annotations

from .base import Method
from .engine import ENGINE
from .literature.acc_prox_sdca import AccProxSDCA
from .literature.ada_sdca import AdaSDCA, GapSDCA
from .literature.apcg import APCG
from .literature.approx import Alpha, Approx, Hydra2
from .literature.asdca import ASDCA
from .literature.averaged_quartz import AveragedQuartz
from .literature.cocoa import CoCoA
from .literature.df_sdca import MISO, DfSDCA
from .literature.hydra import Hydra
from .literature.katyusha import Katyusha
from .literature.l_katyusha import LKatyusha
from .literature.l_svrg import LSVRG
from .literature.nsync_newton import NSyncNewton
from .literature.nu_acdm import NUACDM
from .literature.prox_svrg import MS2GD, ProxSVRG
from .literature.rcdm import PCDM, RCDM, UCDC
from .literature.s2cd import S2CD
from .literature.sag import SAG, SAGA
from .literature.sdca import SDCA, IProxSDCA
from .literature.sgd import SGD
from .literature.spdc import SPDC
from .literature.svrg import S2GD, SVRG
from .nsync import NSync
from .quartz import Quartz

METHODS: dict[str, type[Method]] = {
    # the paper's two
    "nsync": NSync,
    "quartz": Quartz,
    # the engine
    **ENGINE,
    # primal coordinate methods
    "nsync_newton": NSyncNewton,
    "rcdm": RCDM,
    "ucdc": UCDC,
    "pcdm": PCDM,
    "approx": Approx,
    "alpha": Alpha,
    "nu_acdm": NUACDM,
    # dual coordinate methods
    "averaged_quartz": AveragedQuartz,
    "sdca": SDCA,
    "iprox_sdca": IProxSDCA,
    "df_sdca": DfSDCA,
    "miso": MISO,
    "asdca": ASDCA,
    "acc_prox_sdca": AccProxSDCA,
    "apcg": APCG,
    "spdc": SPDC,
    "ada_sdca": AdaSDCA,
    "gap_sdca": GapSDCA,
    # stochastic gradients
    "sgd": SGD,
    "sag": SAG,
    "saga": SAGA,
    "svrg": SVRG,
    "prox_svrg": ProxSVRG,
    "s2gd": S2GD,
    "ms2gd": MS2GD,
    "l_svrg": LSVRG,
    "s2cd": S2CD,
    "katyusha": Katyusha,
    "l_katyusha": LKatyusha,
    # distributed
    "hydra": Hydra,
    "hydra2": Hydra2,
    "cocoa": CoCoA,
}

__all__ = ["ENGINE", "METHODS", "Method"]
