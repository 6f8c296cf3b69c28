// Package failure has the form of the errors of the client and of the recipes on it.
package failure

// Error names what was tried, and on what.
type Error struct {
	pkg, operation, subject string
	cause                   error
}

// Of names a package, an operation and its subject, which may be empty, in front of an error. What a recipe calls has
// often said the same already; it is not said twice. Nil stays nil.
func Of(pkg, operation, subject string, cause error) error {
	if cause == nil {
		return nil
	}
	if inner, ok := cause.(*Error); ok && inner.operation == operation && inner.subject == subject {
		cause = inner.cause
	}
	return &Error{pkg: pkg, operation: operation, subject: subject, cause: cause}
}

// Error says it in one line.
func (e *Error) Error() string {
	text := e.pkg + ": " + e.operation
	if e.subject != "" {
		text += " " + e.subject
	}
	return text + ": " + e.cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }
