"""The wrong moment: studies that are over, nodes that are down, things done twice."""

from __future__ import annotations

from ppaurora.testing.consortium import POLICY
from tests.cli.bad_inputs.moments import (
    at_work,
    begun,
    does,
    done,
    elsewhere,
    expired,
    fetched,
    in_a_century,
    other,
    submitted,
    web_proxy,
    without_record,
)
from tests.cli.bad_inputs.row import Row, data, file, kit, study

SUBMIT = "submit kit data.csv --yes"
NORTH = kit("north", "trial")
LATE = '[evaluation]\nsubmissions_until = "2099-12-31"\n'
NOBODY_LISTENS = (
    "    the machine is there, and nothing listens at this port: ask the operator of PEER whether the node "
    "runs ('ppaurora serve'). If others reach it, a firewall refuses connections: ask the administrators of "
    "your network to open outgoing TCP to 127.0.0.1:PORT, or set HTTPS_PROXY if connections leave it through "
    "a web proxy\n"
)
INVERTED = b"score,label\n" + b"".join(b"0.%d,%d\n" % (score, score < 50) for score in range(10, 99))

ROWS = [
    Row(
        "nobody to ask",
        (NORTH, data),
        "submit kit data.csv",
        "ppaurora: not submitted; nothing was sent. The question was not answered: without a "
        "terminal, add --yes",
    ),
    Row(
        "nobody to ask, for a withdrawal",
        (NORTH, data),
        "withdraw kit",
        "Withdraw what north has submitted to trial? [y/N]: \n"
        "ppaurora: not withdrawn; nothing was changed. The question was not answered: without a "
        "terminal, add --yes",
    ),
    Row(
        "warnings, and nobody to ask",
        (NORTH, file("data.csv", INVERTED)),
        SUBMIT,
        "ppaurora: not submitted; nothing was sent. The data check has warnings "
        "(auroc-below-half): fix the data or, if it is correct, add --despite-warnings",
        6,
    ),
    Row(
        "other data",
        (study("typo"), kit("north", "typo"), data, other, submitted("typo")),
        "submit kit other.csv --yes",
        "ppaurora: other data was submitted to the study 'typo' from this kit before (60 samples: "
        "acknowledged by proxy 0 and proxy 1); nothing was sent now. Until the computation begins, "
        "'ppaurora submit --replace' sends this in its place, and 'ppaurora withdraw' takes it back",
    ),
    Row(
        "withdrawing nothing",
        (NORTH,),
        "withdraw kit --yes",
        "ppaurora: nothing was submitted to the study 'trial'; there is nothing to withdraw",
    ),
    Row(
        "two processes at once",
        (NORTH, data, at_work("trial")),
        SUBMIT,
        "ppaurora: another process is submitting to the study 'trial' with this kit, or "
        "withdrawing from it; nothing was done now. Wait until it has ended: 'ppaurora status' "
        "shows what has arrived",
    ),
    Row(
        "withdrawing while another process submits",
        (NORTH, at_work("trial")),
        "withdraw kit --yes",
        "ppaurora: another process is submitting to the study 'trial' with this kit, or "
        "withdrawing from it; nothing was done now. Wait until it has ended: 'ppaurora status' "
        "shows what has arrived",
    ),
    Row(
        "replacing when it has begun",
        (study("begun-1"), kit("north", "begun-1"), data, other, submitted("begun-1"), begun("begun-1")),
        "submit kit other.csv --yes --replace",
        "ppaurora: proxy 0 refused (begun): the computation has begun, and what was submitted can "
        "be neither replaced nor withdrawn; nothing was stored\n"
        "    what was submitted before stands: acknowledged by proxy 0 and proxy 1",
    ),
    Row(
        "withdrawing when it has begun",
        (study("begun-2"), kit("north", "begun-2"), data, submitted("begun-2"), begun("begun-2")),
        "withdraw kit --yes",
        "ppaurora: proxy 0 refused (begun): the computation has begun, and what was submitted can "
        "be neither replaced nor withdrawn; nothing was withdrawn",
    ),
    Row(
        "other data for a released study",
        (done,),
        "submit kit other.csv --yes",
        "ppaurora: other data was submitted to the study 'done' from this kit before (60 samples: "
        "acknowledged by proxy 0 and proxy 1); nothing was sent now. Until the computation begins, "
        "'ppaurora submit --replace' sends this in its place, and 'ppaurora withdraw' takes it back",
    ),
    Row(
        "replacing in a released study",
        (done,),
        "submit kit other.csv --yes --replace",
        "ppaurora: proxy 0 refused (begun): the computation has begun, and what was submitted can "
        "be neither replaced nor withdrawn; nothing was stored\n"
        "    what was submitted before stands: acknowledged by proxy 0 and proxy 1",
    ),
    Row(
        "withdrawing from a released study",
        (done,),
        "withdraw kit --yes",
        "ppaurora: proxy 0 refused (closed): the study is released; nothing can be withdrawn from it",
    ),
    Row(
        "submitting when the result was fetched",
        (done, fetched),
        "submit kit other.csv --yes",
        "ppaurora: the study 'done' has its result, with what was submitted from this kit before; "
        "nothing was sent now. 'ppaurora result' shows it again, in Python Study.result()",
    ),
    Row(
        "another kit of a released study",
        (done, without_record),
        "submit kit data.csv --yes",
        "ppaurora: proxy 0 refused (conflict): you have submitted something else to this study\n"
        "    until the computation begins, 'ppaurora submit kit DATA --replace --study done' sends "
        "this in its place",
        goes_on=True,
    ),
    Row(
        "no result yet",
        (NORTH,),
        "result kit",
        "ppaurora: proxy 0 refused (not-released): there is no result; the study is collecting\n"
        "    'ppaurora status kit --study trial' shows how far the study is",
        4,
    ),
    Row(
        "a deleted study",
        (study("deleted"), kit("north", "deleted"), data, does("delete NODE deleted --yes")),
        SUBMIT,
        "ppaurora: proxy 0 refused (deleted): this node's operator has deleted the study; nothing "
        "was stored\n"
        "    ask its operator why, and whoever coordinates the study for a new one\n"
        "    nothing is kept of this file; 'ppaurora status kit --study deleted' shows how far the "
        "study is",
    ),
    Row(
        "the result of a deleted study",
        (study("deleted-2"), kit("north", "deleted-2"), does("delete NODE deleted-2 --yes")),
        "result kit",
        "ppaurora: proxy 0 refused (deleted): this node's operator has deleted the study; its "
        "result was deleted\n"
        "    ask its operator why, and whoever coordinates the study for a new one\n"
        "    'ppaurora status kit --study deleted-2' shows how far the study is",
        4,
    ),
    Row(
        "an expired study",
        (study("expired"), kit("north", "expired"), data, expired("expired")),
        SUBMIT,
        "ppaurora: proxy 0 refused (expired): the study's time is over; nothing was stored\n"
        "    its shares and results were deleted there; what is still wanted takes a new study\n"
        "    nothing is kept of this file; 'ppaurora status kit --study expired' shows how far the "
        "study is",
    ),
    Row(
        "the result of an expired study",
        (study("expired-2"), kit("north", "expired-2"), expired("expired-2")),
        "result kit",
        "ppaurora: proxy 0 refused (expired): the study's time is over; its result was deleted\n"
        "    its shares and results were deleted there; what is still wanted takes a new study\n"
        "    'ppaurora status kit --study expired-2' shows how far the study is",
        4,
    ),
    Row(
        "a stopped study",
        (study("stopped"), kit("north", "stopped"), data, does("stop NODE stopped")),
        SUBMIT,
        "ppaurora: proxy 0 refused (closed): the study is stopped; nothing more can be submitted: "
        "this node's operator stopped the study; they let it go on with 'ppaurora retry'\n"
        "    nothing is kept of this file; 'ppaurora status kit --study stopped' shows how far the "
        "study is",
    ),
    Row(
        "the result of a stopped study",
        (
            study("stopped-2"),
            kit("north", "stopped-2"),
            data,
            submitted("stopped-2"),
            does("stop NODE stopped-2"),
        ),
        "submit kit data.csv --yes --wait",
        "ppaurora: proxy 0: the study is stopped: this node's operator stopped the study; they let it "
        "go on with 'ppaurora retry'",
        4,
    ),
    Row(
        "one node is down for a withdrawal",
        (elsewhere("half-2", "proxy-1"), kit("north", "half-2"), data, does("submit kit data.csv --yes")),
        "withdraw kit --yes",
        "ppaurora: proxy 1 cannot be reached at 127.0.0.1:PORT: Connection refused\n"
        + NOBODY_LISTENS.replace("PEER", "proxy 1")
        + "    proxy 0 has recorded the withdrawal: nothing will be computed with what was "
        "submitted. proxy 1 has not acknowledged it yet; proxy 0 tells it as soon as it can. To "
        "see whether it has, run 'ppaurora withdraw kit --study half-2' again",
        3,
        goes_on=True,
    ),
    Row(
        "a study that is over by its date",
        (study("late", more=LATE), kit("north", "late"), data, in_a_century),
        SUBMIT,
        "ppaurora: the study 'late': submissions were taken until the end of 2099-12-31 (UTC); "
        "nothing was sent. Ask the coordinator to move the last day by an amendment; if that is done, "
        "'ppaurora accept KIT' takes it into your kit. If this machine's clock is wrong, set it",
    ),
    Row(
        "too few samples",
        (study("large", policy=POLICY + "minimum_samples_per_owner = 100\n"), kit("north", "large"), data),
        SUBMIT,
        "ppaurora: data.csv: has 60 samples: an owner has fewer than 100 samples; submit more samples, or "
        "ask the coordinator to amend the study",
    ),
    Row(
        "probabilities above one",
        (
            study("probable", more='[evaluation]\nscore_scale = "probability"\n'),
            kit("north", "probable"),
            data,
        ),
        SUBMIT,
        "ppaurora: data.csv, row 3, column 'score': the score is outside [0, 1] (the study "
        "evaluates probabilities)",
    ),
    Row(
        "one node down",
        (elsewhere("half", "proxy-1"), kit("north", "half"), data),
        SUBMIT,
        "ppaurora: proxy 1 cannot be reached at 127.0.0.1:PORT: Connection refused\n"
        + NOBODY_LISTENS.replace("PEER", "proxy 1")
        + "    60 samples are acknowledged by proxy 0; to go on, run 'ppaurora submit kit DATA "
        "--study half' again with the same file",
        3,
        goes_on=True,
    ),
    Row(
        "both nodes down",
        (elsewhere("none", "proxy-0", "proxy-1"), kit("north", "none"), data),
        SUBMIT,
        "ppaurora: proxy 0 cannot be reached at 127.0.0.1:PORT: Connection refused\n"
        + NOBODY_LISTENS.replace("PEER", "proxy 0")
        + "    nothing was sent, and this or another file can be submitted: 'ppaurora submit kit "
        "DATA --study none'",
        3,
    ),
    Row(
        "both nodes down, for status",
        (elsewhere("none-2", "proxy-0", "proxy-1"), kit("north", "none-2")),
        "status kit",
        "ppaurora: proxy 0 and proxy 1 gave no answer; the notes say why, and 'ppaurora preflight kit "
        "--study none-2' what to do",
        3,
    ),
    Row(
        "withdrawing from a node that is down",
        (elsewhere("none-3", "proxy-0", "proxy-1"), kit("north", "none-3")),
        "withdraw kit --yes",
        "ppaurora: proxy 0 cannot be reached at 127.0.0.1:PORT: Connection refused\n"
        + NOBODY_LISTENS.replace("PEER", "proxy 0")
        + "    proxy 0 has not acknowledged a withdrawal: what was submitted may still be computed "
        "with. To go on, run 'ppaurora withdraw kit --study none-3' again",
        3,
    ),
    Row(
        "a result of nodes that are down",
        (elsewhere("none-4", "proxy-0", "proxy-1"), kit("north", "none-4")),
        "result kit",
        "ppaurora: proxy 0 cannot be reached at 127.0.0.1:PORT: Connection refused\n"
        + NOBODY_LISTENS.replace("PEER", "proxy 0")
        + "    'ppaurora preflight kit --study none-4' checks the connections to all nodes",
        3,
    ),
    Row(
        "a wrong web proxy",
        (NORTH, data, web_proxy("http://user:word@127.0.0.1:PORT")),
        SUBMIT,
        "ppaurora: proxy 0 cannot be reached at 127.0.0.1:PORT through the web proxy "
        "127.0.0.1:PORT (HTTPS_PROXY): Connection refused\n"
        "    the web proxy is in the way, and not the node: check HTTPS_PROXY (http://HOST:PORT, or "
        "http://USER:PASSWORD@HOST:PORT), and ask those who run it whether it lets CONNECT to "
        "127.0.0.1:PORT through; without a web proxy, unset HTTPS_PROXY or add the host to NO_PROXY\n"
        "    nothing was sent, and this or another file can be submitted: 'ppaurora submit kit "
        "DATA --study trial'",
        3,
    ),
    Row(
        "a web proxy that is none",
        (NORTH, data, web_proxy("http://proxy:port")),
        SUBMIT,
        "ppaurora: HTTPS_PROXY is not the address of a web proxy; write http://HOST:PORT, or unset it "
        "if there is none",
    ),
    Row(
        "stopping what has stopped",
        (study("stopped-3"), does("stop NODE stopped-3"), kit("proxy-0")),
        "stop NODE stopped-3",
        "ppaurora: the study is stopped here; there is nothing to stop",
    ),
    Row(
        "retrying what goes on",
        (study("going"), kit("proxy-0")),
        "retry NODE going",
        "ppaurora: this study has not stopped; there is nothing to retry",
    ),
    Row(
        "aborting what does not run",
        (study("going-2"), kit("proxy-0")),
        "abort NODE going-2",
        "ppaurora: no attempt at this study is under way here; there is nothing to abort",
    ),
    Row(
        "deleting twice",
        (study("deleted-3"), does("delete NODE deleted-3 --yes")),
        "delete NODE deleted-3 --yes",
        "ppaurora: the study 'deleted-3' is deleted here; there is nothing to delete",
    ),
    Row(
        "deleting without a person",
        (study("kept"),),
        "delete NODE kept",
        "Delete them? This cannot be undone, and the study ends. [y/N]: \n"
        "ppaurora: not deleted; nothing was changed. The question was not answered: without a "
        "terminal, add --yes",
    ),
    Row(
        "accepting what was deleted",
        (study("deleted-4"), does("delete NODE deleted-4 --yes"), kit("north", "deleted-4")),
        "accept NODE kit/studies/deleted-4.json --yes",
        "ppaurora: the study 'deleted-4' is over here (deleted); it takes a new one, with a name of its own",
    ),
]
