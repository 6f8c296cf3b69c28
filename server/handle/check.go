package handle

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// Special paths for rights: everywhere has no path limit, somewhere means a right in at least one node.
const (
	Everywhere = "/"
	Somewhere  = ""
)

// Authorized wraps a handler so that it receives only requests whose client has the required right on the whole node
// with the path.
func Authorized(path string, handle Handler) Handler {
	return func(r *Request) (Reply, error) {
		if err := Authorize(r, path, ""); err != nil {
			return nil, err
		}
		return handle(r)
	}
}

// Authorize refuses a request for the object in the node with the path, unless the client has the required right.
func Authorize(r *Request, path, object string) error {
	if r.Caller.Permits(r.Kind, path, object) {
		return nil
	}
	return r.Caller.Unauthorized(r.From(), r.Kind, path, object)
}

// AuthorizeIn is Authorize for a node id. The object is empty for requests about the whole node.
func (h *Host) AuthorizeIn(r *Request, id shard.NodeID, object []byte) error {
	r.Node = id
	if r.Caller.Unbound() {
		return nil
	}
	node, ok := h.Meta.Machine.NodeByID(id)
	name := protocol.Text(object)
	switch {
	case ok && r.Caller.Permits(r.Kind, node.Path, name):
		return nil
	case !r.Caller.Permits(r.Kind, "", ""):
		return Authorize(r, "", "") // the client lacks the right in every node
	case !ok || !r.Caller.Permits(protocol.KindNodeDescribe, node.Path, ""):
		if ok || !h.Unfilled(id) {
			r.Caller.Denied(r.From(), r.Kind, node.Path, name)
		}
		return h.refuseNode(r, id)
	}
	return Authorize(r, node.Path, name)
}

// refuseNode returns the refusal for a request in a node that does not exist or is hidden from the client: both cases
// take a barrier and get the same answer. If the node was created meanwhile and is not hidden, the client is asked to
// retry.
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

// HasName refuses invalid object names.
func HasName(name []byte) error {
	if len(name) == 0 {
		return BadRequest("a name must not be empty")
	}
	return nil
}

// Object checks an object request: the client's right, and the name.
func (h *Host) Object(r *Request, id shard.NodeID, name []byte) error {
	if err := h.AuthorizeIn(r, id, name); err != nil {
		return err
	}
	return HasName(name)
}

// Path reads a request's path. Path refuses a path that is malformed or that the client may not use.
func Path(r *Request, raw []byte) (string, error) {
	path, err := meta.ParsePath(string(raw))
	if err != nil {
		return "", BadRequest(err.Error())
	}
	return path, Authorize(r, path, "")
}

// Named reads a request's node name: a path, an id, or both.
func (h *Host) Named(r *Request, raw []byte, node uint64) (path string, id shard.NodeID, err error) {
	id = shard.NodeID(node)
	if len(raw) == 0 && id != 0 {
		return "", id, h.AuthorizeIn(r, id, nil)
	}
	path, err = Path(r, raw)
	return path, id, err
}

// Binding returns a session's binding for a request, and refuses the request if the session may not act over the
// connection. A request waits while its session is being stopped over the connection.
func (h *Host) Binding(r *Request, id shard.SessionID) (Binding, error) {
	b, acts := r.Conn.Binding(id)
	r.Node = b.Node
	switch {
	case !acts:
		return b, h.RefuseSession(r, id, "the session is neither attached to nor bound to the connection")
	case b.Stop != nil:
		return b, b.Stop.Wait()
	}
	return b, nil
}

// BindingIn is Binding for a request in a node.
func (h *Host) BindingIn(r *Request, id shard.SessionID, node shard.NodeID) error {
	b, err := h.Binding(r, id)
	if err == nil && b.Node != node {
		return Refuse(protocol.StatusBadSession, "the session belongs to another node")
	}
	return err
}

// RefuseSession returns the refusal for a request whose session may not act over the connection. An ended session is
// never reported as alive, because a client would attach it again. For a hidden session, the answer is the same as
// for an ended session.
func (h *Host) RefuseSession(r *Request, id shard.SessionID, message string) error {
	home, by := h.Set.Home(id), r.Caller
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

// Session returns a session from a shard's machine, if the client may know about the session.
func Session(by *caller.Caller, rp *replica.Replica, id shard.SessionID) (view shard.SessionView, known bool) {
	view, known = rp.Machine.Session(id)
	return view, known && by.Sees(view.Node)
}

// ShardToList returns the data shard for a list request, and refuses an unknown shard.
func (h *Host) ShardToList(id uint64) (*replica.Replica, error) {
	if rp := h.Set.Shard(id); rp != nil {
		return rp, nil
	}
	return nil, Refuse(protocol.StatusNotFound, "the data shard does not exist")
}

// ItemLimit returns the page size for a request's limit. 0 means shard.MaxPage.
func ItemLimit(asked uint64) int {
	if asked == 0 || asked > shard.MaxPage {
		return shard.MaxPage
	}
	return int(asked)
}

// EndsPage reports whether a page of a list ends with item i of the n that were read, given the bytes used so far.
// The page ends if the page is full, or if further items follow the last item read.
func EndsPage(bytes, i, n int, more bool) bool {
	if i == n-1 {
		return more
	}
	return bytes >= protocol.PageBytes
}
