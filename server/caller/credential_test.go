package caller

import (
	"testing"

	"github.com/signalbox/signalbox/shard/access"
)

// TestCredentialSaysTokenOrCertificate: the token names a client that has both.
func TestCredentialSaysTokenOrCertificate(t *testing.T) {
	for want, k := range map[string]*kept{
		"certificate billing": {},
		"token billing":       {token: &access.Record{}},
	} {
		if got := (&Caller{Name: "billing", Rights: k}).Credential().String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if by := (&Caller{Rights: &kept{}}).Credential(); by != (Credential{}) {
		t.Errorf("an anonymous client has shown %v", by)
	}
}
