package protocol

import "github.com/signalbox/signalbox/protocol/level"

// requestRow is what the package knows of one kind of request: its name, and where the request and its answer lie in
// what the decoders return.
type requestRow struct {
	name    string
	request func(*Request) RequestMessage
	answer  func(*Answer) AnswerMessage
}

// pushRow is the same of one kind of push.
type pushRow struct {
	name string
	push func(*Answer) PushMessage
}

// requestTable has a row for every kind of request that is known here, in both blocks. With its row a kind is read,
// printed and announced. Its name has a row in the table of levels.
var requestTable = [maxRequest2 + 1]requestRow{
	KindHello: {"HELLO",
		func(r *Request) RequestMessage { return &r.Hello },
		func(a *Answer) AnswerMessage { return &a.Welcome }},
	KindPing: {"PING",
		func(r *Request) RequestMessage { return &r.Ping },
		func(a *Answer) AnswerMessage { return &a.Pong }},
	KindRouting: {"ROUTING",
		func(r *Request) RequestMessage { return &r.Routing },
		func(a *Answer) AnswerMessage { return &a.Routing }},
	KindHostStatus: {"HOST_STATUS",
		func(r *Request) RequestMessage { return &r.HostStatus },
		func(a *Answer) AnswerMessage { return &a.HostStatus }},
	KindNodeCreate: {"NODE_CREATE",
		func(r *Request) RequestMessage { return &r.NodeCreate },
		func(a *Answer) AnswerMessage { return &a.NodeCreate }},
	KindNodeDescribe: {"NODE_DESCRIBE",
		func(r *Request) RequestMessage { return &r.NodeDescribe },
		func(a *Answer) AnswerMessage { return &a.NodeDescribe }},
	KindNodeAlter: {"NODE_ALTER",
		func(r *Request) RequestMessage { return &r.NodeAlter },
		func(a *Answer) AnswerMessage { return &a.NodeAlter }},
	KindNodeDrop: {"NODE_DROP",
		func(r *Request) RequestMessage { return &r.NodeDrop },
		func(a *Answer) AnswerMessage { return &a.NodeDrop }},
	KindNodeList: {"NODE_LIST",
		func(r *Request) RequestMessage { return &r.NodeList },
		func(a *Answer) AnswerMessage { return &a.NodeList }},
	KindSessionStart: {"SESSION_START",
		func(r *Request) RequestMessage { return &r.SessionStart },
		func(a *Answer) AnswerMessage { return &a.SessionStart }},
	KindSessionAttach: {"SESSION_ATTACH",
		func(r *Request) RequestMessage { return &r.SessionAttach },
		func(a *Answer) AnswerMessage { return &a.SessionAttach }},
	KindSessionBind: {"SESSION_BIND",
		func(r *Request) RequestMessage { return &r.SessionBind },
		func(a *Answer) AnswerMessage { return &a.SessionBind }},
	KindSessionStop: {"SESSION_STOP",
		func(r *Request) RequestMessage { return &r.SessionStop },
		func(a *Answer) AnswerMessage { return &a.SessionStop }},
	KindSessionDestroy: {"SESSION_DESTROY",
		func(r *Request) RequestMessage { return &r.SessionDestroy },
		func(a *Answer) AnswerMessage { return &a.SessionDestroy }},
	KindSessionDescribe: {"SESSION_DESCRIBE",
		func(r *Request) RequestMessage { return &r.SessionDescribe },
		func(a *Answer) AnswerMessage { return &a.SessionDescribe }},
	KindSessionList: {"SESSION_LIST",
		func(r *Request) RequestMessage { return &r.SessionList },
		func(a *Answer) AnswerMessage { return &a.SessionList }},
	KindSessionHoldings: {"SESSION_HOLDINGS",
		func(r *Request) RequestMessage { return &r.SessionHoldings },
		func(a *Answer) AnswerMessage { return &a.SessionHoldings }},
	KindSemaphoreCreate: {"SEMAPHORE_CREATE",
		func(r *Request) RequestMessage { return &r.SemaphoreCreate },
		func(a *Answer) AnswerMessage { return &a.SemaphoreCreate }},
	KindSemaphoreUpdate: {"SEMAPHORE_UPDATE",
		func(r *Request) RequestMessage { return &r.SemaphoreUpdate },
		func(a *Answer) AnswerMessage { return &a.SemaphoreUpdate }},
	KindSemaphoreDelete: {"SEMAPHORE_DELETE",
		func(r *Request) RequestMessage { return &r.SemaphoreDelete },
		func(a *Answer) AnswerMessage { return &a.SemaphoreDelete }},
	KindAcquire: {"ACQUIRE",
		func(r *Request) RequestMessage { return &r.Acquire },
		func(a *Answer) AnswerMessage { return &a.Acquire }},
	KindRelease: {"RELEASE",
		func(r *Request) RequestMessage { return &r.Release },
		func(a *Answer) AnswerMessage { return &a.Release }},
	KindSemaphoreDescribe: {"SEMAPHORE_DESCRIBE",
		func(r *Request) RequestMessage { return &r.SemaphoreDescribe },
		func(a *Answer) AnswerMessage { return &a.SemaphoreDescribe }},
	KindSemaphoreList: {"SEMAPHORE_LIST",
		func(r *Request) RequestMessage { return &r.SemaphoreList },
		func(a *Answer) AnswerMessage { return &a.SemaphoreList }},
	KindSemaphoreResize: {"SEMAPHORE_RESIZE",
		func(r *Request) RequestMessage { return &r.SemaphoreResize },
		func(a *Answer) AnswerMessage { return &a.SemaphoreResize }},
	KindWatch: {"WATCH",
		func(r *Request) RequestMessage { return &r.Watch },
		func(a *Answer) AnswerMessage { return &a.Watch }},
	KindWatchStop: {"WATCH_STOP",
		func(r *Request) RequestMessage { return &r.WatchStop },
		func(a *Answer) AnswerMessage { return &a.WatchStop }},
}

// pushTable has a row for every kind of push that is known here, by its distance from the first of all.
var pushTable = [maxPush2 - minPush1 + 1]pushRow{
	KindGranted - minPush1:         {"GRANTED", func(a *Answer) PushMessage { return &a.Granted }},
	KindTimedOut - minPush1:        {"TIMED_OUT", func(a *Answer) PushMessage { return &a.TimedOut }},
	KindAborted - minPush1:         {"ABORTED", func(a *Answer) PushMessage { return &a.Aborted }},
	KindChanged - minPush1:         {"CHANGED", func(a *Answer) PushMessage { return &a.Changed }},
	KindHoldingLost - minPush1:     {"HOLDING_LOST", func(a *Answer) PushMessage { return &a.HoldingLost }},
	KindWatchSnapshot - minPush1:   {"WATCH_SNAPSHOT", func(a *Answer) PushMessage { return &a.WatchSnapshot }},
	KindWatchDelta - minPush1:      {"WATCH_DELTA", func(a *Answer) PushMessage { return &a.WatchDelta }},
	KindWatchResync - minPush1:     {"WATCH_RESYNC", func(a *Answer) PushMessage { return &a.WatchResync }},
	KindWatchEnd - minPush1:        {"WATCH_END", func(a *Answer) PushMessage { return &a.WatchEnd }},
	KindSessionDetached - minPush1: {"SESSION_DETACHED", func(a *Answer) PushMessage { return &a.SessionDetached }},
	KindSessionEnded - minPush1:    {"SESSION_ENDED", func(a *Answer) PushMessage { return &a.SessionEnded }},
	KindRoutingChanged - minPush1:  {"ROUTING_CHANGED", func(a *Answer) PushMessage { return &a.RoutingChanged }},
	KindGoingAway - minPush1:       {"GOING_AWAY", func(a *Answer) PushMessage { return &a.GoingAway }},
}

// What came with a level that this build cannot follow is not known here.
func init() {
	for k, row := range requestTable {
		if row.name != "" && level.Of(level.Message, row.name) > level.Newest {
			requestTable[k] = requestRow{}
		}
	}
	for k, row := range pushTable {
		if row.name != "" && level.Of(level.Message, row.name) > level.Newest {
			pushTable[k] = pushRow{}
		}
	}
}
