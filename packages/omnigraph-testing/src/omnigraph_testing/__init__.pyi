# ruff: noqa: I001 - one statement for each module, though "X as X" is what makes a name public in a stub

from omnigraph_testing._crash._available import (
    tracing_problem as tracing_problem,
)
from omnigraph_testing._crash._harness import (
    Crash as Crash,
    Crashed as Crashed,
)
from omnigraph_testing._crash._kills import (
    AtFileOperation as AtFileOperation,
    AtMoment as AtMoment,
    AtPoint as AtPoint,
    AtRequest as AtRequest,
)
from omnigraph_testing._crash._mark import (
    mark as mark,
)
from omnigraph_testing._crash._outcome import (
    Ending as Ending,
    LeftFile as LeftFile,
    Outcome as Outcome,
)
from omnigraph_testing._disk._cuts import (
    PowerCut as PowerCut,
)
from omnigraph_testing._disk._models import (
    EXT4_LIKE_DISK as EXT4_LIKE_DISK,
    STRICT_DISK as STRICT_DISK,
    DiskModel as DiskModel,
)
from omnigraph_testing._disk._trace import (
    PowerCuts as PowerCuts,
    Trace as Trace,
)
from omnigraph_testing._faults._effects import (
    Answer as Answer,
    Bandwidth as Bandwidth,
    CutReply as CutReply,
    CutRequest as CutRequest,
    Delay as Delay,
    Effect as Effect,
    Hold as Hold,
    IgnoreConditions as IgnoreConditions,
    Refuse as Refuse,
    StaleListing as StaleListing,
    TruncateReply as TruncateReply,
    TruncateRequest as TruncateRequest,
    Twice as Twice,
)
from omnigraph_testing._faults._engine import (
    Decision as Decision,
    Faults as Faults,
    Injected as Injected,
)
from omnigraph_testing._faults._hold import (
    Held as Held,
)
from omnigraph_testing._faults._log import (
    Request as Request,
)
from omnigraph_testing._faults._operation import (
    Operation as Operation,
)
from omnigraph_testing._faults._rule import (
    Rule as Rule,
)
from omnigraph_testing._gateway._faulty import (
    FaultyS3 as FaultyS3,
    start_faulty_s3 as start_faulty_s3,
)
from omnigraph_testing._servers._dynamodb import (
    DynamoTable as DynamoTable,
)
from omnigraph_testing._servers._kinds import (
    ServerKind as ServerKind,
)
from omnigraph_testing._servers._start import (
    S3Server as S3Server,
    start_s3 as start_s3,
)
from omnigraph_testing._sample_graph import (
    sample_graph as sample_graph,
)
from omnigraph_testing._servers._store import (
    S3Store as S3Store,
)
from omnigraph_testing._wrappers._refs import (
    FaultyRefs as FaultyRefs,
)
from omnigraph_testing._wrappers._store import (
    FaultyStore as FaultyStore,
)
from omnigraph_testing.errors import (
    Aborted as Aborted,
    BudgetExceeded as BudgetExceeded,
    CrashDeadline as CrashDeadline,
    EndlessPredicate as EndlessPredicate,
    GatewayFailed as GatewayFailed,
    InvalidHistory as InvalidHistory,
    InvalidOption as InvalidOption,
    NeverKilled as NeverKilled,
    NothingHeld as NothingHeld,
    OmniGraphTestingError as OmniGraphTestingError,
    ServerUnavailable as ServerUnavailable,
    TracingUnavailable as TracingUnavailable,
    UnexpectedEnding as UnexpectedEnding,
    Untraceable as Untraceable,
    UnusableFunction as UnusableFunction,
    WorkerFailed as WorkerFailed,
)
