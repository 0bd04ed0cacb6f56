"""The libraries, one a file, each in the storage it prefers and with the settings its authors advise.

Scalings: scikit-learn, celer, skglm, adelie and glmnet divide losses by n; liblinear, blitzl1 and celer's logistic
regression do not.
"""

from __future__ import annotations

from race.peers.adelie import Adelie
from race.peers.blitz import Blitz
from race.peers.celer import Celer
from race.peers.glmnet import GlmnetPython, GlmnetR
from race.peers.ours import Ours
from race.peers.scikit_learn import ScikitLearn, ScikitNewton
from race.peers.skglm import Skglm

EVERYBODY = (Ours, ScikitLearn, ScikitNewton, Celer, Skglm, Blitz, Adelie, GlmnetPython, GlmnetR)


def installed(wanted=""):
    """The peers asked for that are here, with versions, and why the others are not."""
    here, absent = {}, {}
    for peer in (library() for library in EVERYBODY):
        if wanted and not any(part.strip() in peer.name for part in wanted.split(",")):
            continue
        try:
            peer.installed_version = peer.version()
            here[peer.name] = peer
        except (ImportError, OSError, AttributeError) as reason:
            absent[peer.name] = str(reason) or type(reason).__name__
    return here, absent
