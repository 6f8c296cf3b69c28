package rights

// The limits of a book. Every replica must agree on them, so they are constants.
const (
	// MaxTokens is how many tokens there are at the most, MaxCertificates how many rules for certificates.
	MaxTokens       = 10_000
	MaxCertificates = 10_000
	// MaxRoles is how many roles may be made, MaxRules how many rules one of them has.
	MaxRoles = 1_000
	MaxRules = 64
	// MaxGrants is how many roles one principal has.
	MaxGrants = 64
	// MaxBytes is how much all roles and principals may take together in the form in which they are saved.
	MaxBytes = 16 << 20

	// MaxName is the longest name of a role or a principal, MaxPath the longest path, MaxObject the longest beginning
	// of names of objects, all in bytes.
	MaxName   = 256
	MaxPath   = 1024
	MaxObject = 1024
)
