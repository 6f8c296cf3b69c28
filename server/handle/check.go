package handle

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// The paths of rights: everywhere is without a limit to a path, somewhere stands for a right in at least one node.
const (
	Everywhere = "/"
	Somewhere  = ""
)

// Authorized lets a handler have the requests of clients with the right to them in the node of the path as a whole.
func Authorized(path string, handle Handler) Handler {
	return func(r *Request) (Reply, error) {
		if err := Authorize(r, path, ""); err != nil {
			return nil, err
		}
		return handle(r)
	}
}

// Authorize refuses a request about the object in the node of the path unless the client has the right to it.
func Authorize(r *Request, path, object string) error {
	if r.Caller.Permits(r.Kind, path, object) {
		return nil
	}
	return r.Caller.Unauthorized(r.From(), r.Kind, path, object)
}

// AuthorizeIn is Authorize for a node by its id. The object is empty for requests about the node as a whole.
func (h *Host) AuthorizeIn(r *Request, id shard.NodeID, object []byte) error {
	if r.Caller.Unbound() {
		return nil
	}
	node, ok := h.Meta.Machine.NodeByID(id)
	name := protocol.Text(object)
	switch {
	case ok && r.Caller.Permits(r.Kind, node.Path, name):
		return nil
	case !r.Caller.Permits(r.Kind, "", ""):
		return Authorize(r, "", "") // the client may not do so in a single node
	case !ok || !r.Caller.Permits(protocol.KindNodeDescribe, node.Path, ""):
		if ok || !h.Unfilled(id) {
			r.Caller.Denied(r.From(), r.Kind, node.Path, name)
		}
		return h.refuseNode(r, id)
	}
	return Authorize(r, node.Path, name)
}

// refuseNode is the refusal of a request in a node that does not exist, or that must stay hidden from the client: both
// cases take a barrier, and get the same answer. If the node has come meanwhile, and is not hidden, the client is to
// ask again.
func (h *Host) refuseNode(r *Request, id shard.NodeID) error {
	by := r.Caller
	return &Undecided{func(done func(error)) {
		h.Meta.Confirm(func(ok bool) {
			_, known := h.Meta.Machine.NodeByID(id)
			switch {
			case !ok:
				done(&MetaAway)
			case known && by.Sees(id):
				done(&MetaUnfilled)
			default:
				done(Refuse(protocol.StatusNotFound, replica.NoSuchNode))
			}
		})
	}}
}

// HasName refuses a name that no object may have.
func HasName(name []byte) error {
	if len(name) == 0 {
		return BadRequest("a name has at least one byte")
	}
	return nil
}

// IsAhead refuses a read if the client knows a higher generation of the slot than this host. Slots do not move yet, so
// a host knows the generation 0 only.
func IsAhead(generation uint64) error {
	if generation == 0 {
		return nil
	}
	return &protocol.Result{
		Status: protocol.StatusUnavailable, Message: "this host has not heard yet that the slot was moved",
		WaitMillis: 100,
	}
}

// Object checks a request about an object: the client's right, the name, and the generation of the slot.
func (h *Host) Object(r *Request, id shard.NodeID, name []byte, generation uint64) error {
	if err := h.AuthorizeIn(r, id, name); err != nil {
		return err
	}
	if err := HasName(name); err != nil {
		return err
	}
	return IsAhead(generation)
}

// Path reads the path of a request, and refuses a path that is malformed, or that the client may not use.
func Path(r *Request, raw []byte) (string, error) {
	path, err := meta.ParsePath(string(raw))
	if err != nil {
		return "", BadRequest(err.Error())
	}
	return path, Authorize(r, path, "")
}

// Named reads how a request names a node: by path, by id, or by both.
func (h *Host) Named(r *Request, raw []byte, node uint64) (path string, id shard.NodeID, err error) {
	id = shard.NodeID(node)
	if len(raw) == 0 && id != 0 {
		return "", id, h.AuthorizeIn(r, id, nil)
	}
	path, err = Path(r, raw)
	return path, id, err
}

// Binding returns the binding of a session for a request, and refuses a request of a session that does not act over
// this connection. A request waits while its session is being stopped over this connection.
func (h *Host) Binding(r *Request, id shard.SessionID) (Binding, error) {
	b, acts := r.Conn.Binding(id)
	switch {
	case !acts:
		return b, h.RefuseSession(r, id, "the session is neither attached over nor bound to this connection")
	case b.Stop != nil:
		return b, b.Stop.Wait()
	}
	return b, nil
}

// BindingIn is Binding for a request in a node.
func (h *Host) BindingIn(r *Request, id shard.SessionID, node shard.NodeID) error {
	b, err := h.Binding(r, id)
	if err == nil && b.Node != node {
		return Refuse(protocol.StatusBadSession, "the session is of another node")
	}
	return err
}

// RefuseSession is the refusal of a request of a session that does not act over this connection. An ended session is
// never called alive: a client would attach the session again. A session hidden from the client is answered like an
// ended session.
func (h *Host) RefuseSession(r *Request, id shard.SessionID, message string) error {
	home, by := h.Set.Of(id.Slot()), r.Caller
	return &Undecided{func(done func(error)) {
		home.Lookup.Find(id, nil, protocol.ConsistencyRelaxed, func(s replica.HomeSession) {
			switch {
			case s.Liveness == shard.Unknown:
				done(&HomeAway)
			case s.Liveness == shard.Alive && by.Sees(s.Node):
				done(Refuse(protocol.StatusBadSession, message))
			default:
				done(Refuse(protocol.StatusSessionExpired, "the session is over"))
			}
		})
	}}
}

// Session returns a session as the machine of a shard knows it, if the client may know of the session.
func Session(by *caller.Caller, rp *replica.Replica, id shard.SessionID) (view shard.SessionView, known bool) {
	view, known = rp.Machine.Session(id)
	return view, known && by.Sees(view.Node)
}

// ShardToList returns the data shard of a list request, and refuses an unknown shard.
func (h *Host) ShardToList(id uint64) (*replica.Replica, error) {
	if id != 0 && id <= uint64(len(h.Replicas)) {
		return h.Replicas[id-1], nil
	}
	return nil, Refuse(protocol.StatusNotFound, "no data shard of this id")
}

// ItemLimit returns the maximum page size for the limit in a request. Zero means shard.MaxPage.
func ItemLimit(asked uint64) int {
	if asked == 0 || asked > shard.MaxPage {
		return shard.MaxPage
	}
	return int(asked)
}

// EndsPage says whether a page of a list, with so many bytes of items by now, ends with item i of the n that were
// read: if the page is full, or if further items follow the last item read.
func EndsPage(bytes, i, n int, more bool) bool {
	if i == n-1 {
		return more
	}
	return bytes >= protocol.PageBytes
}
