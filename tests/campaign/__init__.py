"""What disks, clocks, crowds and peers can do to nodes and kits, tried at length: `make campaign`.

    tally         what was tried, and what happened
    world         a consortium that runs, studies to break, and what must hold of each afterwards
    faulty        `ppaurora serve` in which one named thing goes wrong; the package itself has no hook for it
    named_kills   a node dies at a named point of the code
    random_kills  a node dies at some moment
    damage        bits and ends of the files that nodes keep
    data_folders  logs, pages and whole files of a killed writer's data folder, opened as a node does
    rolled_back   the same of killed nodes, to the end of the study
    wreckage      what is done to them
    writer        the process that is killed
    facts         what a database says that people rely on
    kit_damage    bits and ends of the files that owners' kits keep
    full_disk     no room, before one write after the other
    stopped       processes that stand still for a while
    clock_jumps   a clock that jumps while a study goes on
    strangers     crowds, drips and noise at the ports while a study goes on
    cases         tests that are cases of a kind already, run again

Every kind is a function of a world, a number of trials and a source of chance; it returns a tally.
"""
