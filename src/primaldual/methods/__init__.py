"""The methods, one file each, in the order the documentation lists them."""

from __future__ import annotations

from .acc_prox_sdca import AccProxSDCA
from .ada_sdca import AdaSDCA, GapSDCA
from .apcg import APCG
from .approx import Alpha, Approx, Hydra2
from .asdca import ASDCA
from .base import Method
from .cocoa import CoCoA
from .df_sdca import MISO, DfSDCA
from .dual_cd import DualCD
from .gram_newton import GramNewton
from .gram_newton_cg import GramNewtonCG
from .hydra import Hydra
from .katyusha import Katyusha, LKatyusha
from .l_svrg import LSVRG
from .newton import Newton
from .newton_cg import NewtonCG
from .nsync import NSync
from .nu_acdm import NUACDM
from .primal_cd import PrimalCD
from .quartz import Quartz
from .rcdm import PCDM, RCDM, UCDC
from .s2cd import S2CD
from .sag import SAG, SAGA
from .sdca import SDCA, IProxSDCA
from .sgd import SGD
from .spdc import SPDC
from .ssnal import SSNAL
from .svrg import MS2GD, S2GD, SVRG, ProxSVRG

METHODS: dict[str, type[Method]] = {
    # the paper's two
    "nsync": NSync,
    "quartz": Quartz,
    # the engine
    "dual_cd": DualCD,
    "primal_cd": PrimalCD,
    "newton": Newton,
    "gram_newton": GramNewton,
    "newton_cg": NewtonCG,
    "gram_newton_cg": GramNewtonCG,
    "ssnal": SSNAL,
    # primal coordinate methods
    "rcdm": RCDM,
    "ucdc": UCDC,
    "pcdm": PCDM,
    "approx": Approx,
    "alpha": Alpha,
    "nu_acdm": NUACDM,
    # dual coordinate methods
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

__all__ = ["METHODS", "Method"]
