package protocol

import "strconv"

// truncated is the problem of a value that goes on behind the end of the frame.
const truncated = "the frame ends in the middle of it"

// DecodeError says what is wrong with a frame's payload. Frames carry their own length, so the connection
// can go on behind a frame that could not be read; whether it should is the reader's choice.
type DecodeError struct {
	// Kind and ID are those of the message, as far as they could be read; HasID says whether they could.
	Kind  Kind
	ID    uint64
	HasID bool
	// Field is the path of the field that offends, such as "owners[2].data"; empty where it is the
	// message as a whole.
	Field string
	// Problem says what offends.
	Problem string
	// UnknownKind: nothing is wrong with the frame, but its kind is not known here. A client ignores
	// such a push; a host answers such a request with StatusUnsupported.
	UnknownKind bool
}

// Answerable says whether what could not be read was a request that can be answered: its id is known, and its kind
// has an answer.
func (e *DecodeError) Answerable() bool {
	return e.HasID && e.Kind.IsRequest()
}

// Error names the message, the field, and what is wrong with it.
func (e *DecodeError) Error() string {
	text := "protocol: decode"
	if e.Kind != 0 {
		text += " " + e.Kind.String()
	}
	if e.HasID {
		text += " " + strconv.FormatUint(e.ID, 10)
	}
	if e.Field != "" {
		text += ": " + e.Field
	}
	return text + ": " + e.Problem
}

// Status is what a host answers to a request that it could not read.
func (e *DecodeError) Status() Status {
	if e.UnknownKind {
		return StatusUnsupported
	}
	return StatusBadRequest
}

// Result is the answer to a request that could not be read, naming the field and the problem.
func (e *DecodeError) Result() Result {
	text := e.Problem
	if e.Field != "" {
		text = e.Field + ": " + text
	}
	return Result{Status: e.Status(), Message: text}
}

// Is makes errors.Is see the sentinel of the status.
func (e *DecodeError) Is(target error) bool {
	return e.Status().is(target)
}

// within puts the name of the field that holds the offending one in front of it.
func (e *DecodeError) within(field string) {
	if e.Field != "" && field != "" {
		field += "."
	}
	e.Field = field + e.Field
}
