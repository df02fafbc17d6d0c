"""All orders in which threads can reach the words that they share, for :mod:`mercer.engine.team`.

The functions of the module themselves are run, as generators that stop at each access to a shared
word. States that have been seen before are not followed again.
"""

import ast
import inspect

from mercer.engine import team as module

_ATOMIC = ("_load", "exchange", "_add", "compare_and_swap", "_lock_function")
_LOOPS = (
    "await_phase", "_wake_children", "claim_task", "finish_task", "start_phase", "await_tasks",
    "_close",
)  # fmt: skip
_CONSTANT = ("_SPINS", "_ACQUIRE", "_RELEASE")
_WORDS = [
    getattr(module, name)
    for name in ("_PHASE", "_REMAINING", "_FINISHED", "_CALLER_SLEEPS", "TASKS", "HELPERS")
]
_PROGRAMS = """
def caller(control, phases, members, close):
    for phase, (tasks, helpers) in enumerate(phases):
        control[TASKS] = tasks
        control[HELPERS] = helpers
        control[PARAMETERS] = phase
        start_phase(control)
        work(control)
        await_tasks(control)
        event(("end", phase))
    if close:
        _close(control, members)

def helper(control, member):
    known = 0
    while True:
        known = await_phase(control, member, known)
        if known < 0:
            return
        if member <= control[HELPERS]:
            work(control)

def work(control):
    while True:
        task = claim_task(control)
        if task < 0:
            return
        phase = control[PARAMETERS]
        event(("task", phase, task))
        assert control[PARAMETERS] == phase
        finish_task(control)

def closer(control, members):
    _close(control, members)
"""


class _Steps(ast.NodeTransformer):
    """Every access to a shared word becomes a step of a generator."""

    def visit_FunctionDef(self, node):
        node.decorator_list = []
        return self.generic_visit(node)

    def visit_Call(self, node):
        self.generic_visit(node)
        if node.func.id in (*_ATOMIC, "event"):
            args = [arg for arg in node.args if getattr(arg, "id", "") != "control"]
            step = ast.Tuple([ast.Constant(node.func.id), *args], ast.Load())
            return ast.Yield(step)
        inner = node.func.id in (*_LOOPS, "work")
        return ast.YieldFrom(node) if inner else node

    def visit_Subscript(self, node):
        name = getattr(node.slice, "id", "")
        shared = node.value.id == "control" and isinstance(node.ctx, ast.Load)
        if not shared or name in _CONSTANT or isinstance(node.slice, ast.BinOp):
            return node
        return ast.Yield(ast.Tuple([ast.Constant("_load"), node.slice], ast.Load()))

    def visit_Assign(self, node):
        self.generic_visit(node)
        target = node.targets[0]
        if not isinstance(target, ast.Subscript):
            return node
        step = ast.Tuple([ast.Constant("exchange"), target.slice, node.value], ast.Load())
        return ast.Expr(ast.Yield(step))


def _generators(*changes):
    """The functions of the module, and programs that call them, as generators of steps."""
    source = _PROGRAMS + "\n".join(inspect.getsource(getattr(module, name)) for name in _LOOPS)
    for old, new in changes:
        assert source.count(old) == 1
        source = source.replace(old, new)
    tree = ast.fix_missing_locations(_Steps().visit(ast.parse(source)))
    words = {name: value for name, value in vars(module).items() if isinstance(value, int)}
    space = {**words, "_pause": lambda: None, "_CHILDREN": 1}  # of which each wakes the next
    exec(compile(tree, "protocol", "exec"), space)
    return space


class _World:
    """Threads at some steps, and the words, locks and events so far."""

    def __init__(self, threads, members):
        self.control = [0] * (module._MEMBERS + module._LINE * members)
        self.control[module._ACQUIRE], self.control[module._RELEASE] = -1, -2
        self.locks, self.events, self.threads, self.steps = {}, (), [], []
        self.found = [None] * len(threads)  # the last word that each has read
        for member in range(members):
            lock = module._MEMBERS + module._LINE * member + module._LOCK
            self.control[lock] = lock
        sleeping = range(module._MEMBERS, len(self.control), module._LINE)
        self.words = (*_WORDS, module.PARAMETERS, *sleeping)
        for name, *args in threads:
            self.threads.append(self.space[name](self.control, *args))
            self.steps.append(next(self.threads[-1]))

    def enabled(self):
        """The threads that have a step to take; one that acquires a lock waits until it is free."""
        return [
            k
            for k, step in enumerate(self.steps)
            if step and (step[:2] != ("_lock_function", -1) or self.locks.get(step[2]))
        ]

    def advance(self, k):
        kind, *args = self.steps[k]
        found, control = None, self.control
        if kind == "event":
            assert args[0] not in self.events, "executed twice"
            self.events = (*self.events, args[0])
        elif kind == "_lock_function":
            assert args[0] == -1 or not self.locks.get(args[1]), "released twice"
            self.locks[args[1]] = args[0] == -2
        else:
            found = control[args[0]]
            if kind == "exchange":
                control[args[0]] = args[1]
            elif kind == "_add":
                control[args[0]] += args[1]
            elif kind == "compare_and_swap":
                found = found == args[1]
                control[args[0]] = args[2] if found else control[args[0]]
        self.found[k] = found
        try:
            self.steps[k] = self.threads[k].send(found)
        except StopIteration:
            self.steps[k] = None

    def key(self):
        """All that what happens next depends on."""
        places = []
        for thread, found in zip(self.threads, self.found, strict=True):
            inner = thread
            while inner is not None and inner.gi_frame is not None:
                known = inner.gi_frame.f_locals
                own = [v for k, v in known.items() if isinstance(v, int) and k != "spins"]
                places += [inner.gi_frame.f_lasti, *own]
                inner = inner.gi_yieldfrom
            places.append(found)
        free = frozenset(lock for lock, free in self.locks.items() if free)
        return tuple(self.control[k] for k in self.words), free, frozenset(self.events), *places


def explore(threads, members, *changes):
    """Run every order of steps; returns the worlds in which no thread has a step left."""
    World = type("World", (_World,), {"space": _generators(*changes)})
    seen, ends, paths = set(), [], [[]]
    while paths:
        path = paths.pop()
        world = World(threads, members)
        for k in path:
            world.advance(k)
        while True:
            key = world.key()
            if key in seen:
                break
            seen.add(key)
            enabled = world.enabled()
            if not enabled:
                ends.append(world)
                break
            paths += [[*path, k] for k in enabled[1:]]
            path = [*path, enabled[0]]
            world.advance(enabled[0])
    return ends
