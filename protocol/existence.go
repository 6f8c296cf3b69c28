package protocol

import "strconv"

// Existence says whether a semaphore came or went between two revisions.
type Existence uint8

const (
	// ExistenceSame: it exists as before, or is missing as before.
	ExistenceSame Existence = 0
	// ExistenceCreated: it is a new one, though one of that name may have gone in between. The view is
	// cleared: what it showed before belongs to no semaphore that exists.
	ExistenceCreated Existence = 1
	// ExistenceDeleted: it is gone, and the view is cleared.
	ExistenceDeleted Existence = 2
)

var existenceNames = [...]string{
	ExistenceSame:    "SAME",
	ExistenceCreated: "CREATED",
	ExistenceDeleted: "DELETED",
}

// String returns the change as the docs write it, or its number where it is not known here.
func (e Existence) String() string {
	if int(e) < len(existenceNames) {
		return existenceNames[e]
	}
	return "EXISTENCE_" + strconv.Itoa(int(e))
}
