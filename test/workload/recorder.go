package workload

import (
	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
)

// Recorder takes down what the programs and watchers of one client do and see. It may be used by many goroutines.
type Recorder interface {
	// Now is the present moment.
	Now() history.Time
	// Begin takes down that an operation begins, and returns what takes down that it is over, and with which error.
	Begin(o history.Operation) (over func(o history.Operation, err error))
	// Session takes down that a session has begun, and when and why it ends. It returns what takes down that its
	// user ends it now.
	Session(s *client.Session, x history.Session) (close func())
	// Hold takes down that a lease is believed in, from now on until it is over. It returns what takes down that
	// its user stops believing now; only the first call of that counts.
	Hold(lease *client.Lease, h history.Hold) (end func(why string))
	// Write writes to the store that a semaphore guards, under the lease, and takes down what comes of it.
	Write(of history.Semaphore, lease *client.Lease)
	// View takes down what a watcher sees now.
	View(v history.View)
	// Note takes down something that is wrong.
	Note(format string, args ...any)
}
