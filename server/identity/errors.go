package identity

import "errors"

// Why a data directory is refused. Every error that this package returns for that reason wraps one of
// them, and says what to do.
var (
	// ErrInUse: another process has the directory.
	ErrInUse = errors.New("the data directory is in use")
	// ErrForeign: there are other things in the directory, and no identity.
	ErrForeign = errors.New("the directory is not a data directory")
	// ErrDamaged: the identity cannot be read as it was written.
	ErrDamaged = errors.New("the identity of the data directory is damaged")
	// ErrNewer: a newer version has written the directory.
	ErrNewer = errors.New("the data directory is of a newer version")
	// ErrMismatch: the directory is of another host, of another cluster, or of one made otherwise.
	ErrMismatch = errors.New("the data directory does not fit the settings")
	// ErrLogLost: the log that the host had is gone.
	ErrLogLost = errors.New("the log of the data directory is gone")
	// ErrNone: the directory has no identity yet.
	ErrNone = errors.New("the data directory has no identity")
)
