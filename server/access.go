package server

import "github.com/signalbox/signalbox/protocol"

// Right is what a client may be allowed to do.
type Right uint8

const (
	// RightRead allows to describe, list and watch.
	RightRead Right = 1 << iota
	// RightWrite allows sessions, and to create, update, acquire and release.
	RightWrite
	// RightAdmin allows to create, alter and drop nodes, to delete semaphores, and to end the sessions
	// of others.
	RightAdmin
)

// Rights are what one token allows, under which paths.
type Rights interface {
	// Allows tells whether the rights hold for the node of that path; an empty path asks whether they
	// hold for any.
	Allows(path string, need Right) bool
	// Valid tells whether the token is still good: it may have been taken away.
	Valid() bool
}

// Access knows tokens.
type Access interface {
	// Enter returns what a token allows, and who it belongs to; ok is false for an unknown one.
	Enter(token []byte) (rights Rights, name string, ok bool)
}

// everything is what clients may do where there is no Access.
type everything struct{}

func (everything) Allows(string, Right) bool { return true }
func (everything) Valid() bool               { return true }

// rightOf is the right that a request needs.
var rightOf = [requestKinds]Right{
	protocol.KindHostStatus:        RightRead,
	protocol.KindNodeCreate:        RightAdmin,
	protocol.KindNodeAlter:         RightAdmin,
	protocol.KindNodeDrop:          RightAdmin,
	protocol.KindNodeDescribe:      RightRead,
	protocol.KindNodeList:          RightRead,
	protocol.KindSessionStart:      RightWrite,
	protocol.KindSessionAttach:     RightWrite,
	protocol.KindSessionBind:       RightWrite,
	protocol.KindSessionStop:       RightWrite,
	protocol.KindSessionDestroy:    RightAdmin,
	protocol.KindSessionDescribe:   RightRead,
	protocol.KindSessionList:       RightRead,
	protocol.KindSessionHoldings:   RightRead,
	protocol.KindSemaphoreCreate:   RightWrite,
	protocol.KindSemaphoreUpdate:   RightWrite,
	protocol.KindSemaphoreDelete:   RightAdmin,
	protocol.KindAcquire:           RightWrite,
	protocol.KindRelease:           RightWrite,
	protocol.KindSemaphoreDescribe: RightRead,
	protocol.KindSemaphoreList:     RightRead,
	protocol.KindWatch:             RightRead,
}
