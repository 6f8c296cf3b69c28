package join

import (
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
)

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestATokenIsReadAsItWasWritten(t *testing.T) {
	for _, authority := range []Authority{{}, {1, 2, 3}} {
		made := NewToken(authority)
		read, err := ParseToken(" " + made.String() + "\n")
		if err != nil || read.ID != made.ID || read.Hash() != made.Hash() || read.Authority != authority {
			t.Errorf("%s became %+v, %v", made.String(), read, err)
		}
		if other := NewToken(authority); other.ID == made.ID || other.Hash() == made.Hash() {
			t.Error("two tokens are the same")
		}
	}
}

func TestWhatIsNoTokenIsRefused(t *testing.T) {
	made := NewToken(Authority{1})
	good := made.String()
	for _, text := range []string{
		"", "sbj.", strings.TrimPrefix(good, TokenPrefix), good + ".x", good[:len(good)-1], good + "x",
		"sbj..." + good, strings.Replace(good, made.ID, "", 1), strings.Replace(good, made.ID+".", made.ID+".%", 1),
	} {
		if _, err := ParseToken(text); err == nil {
			t.Errorf("%q is taken for a token", text)
		}
	}
}

func TestATokenNamesTheAuthority(t *testing.T) {
	encode := func(of string) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(of)})
	}
	both := append(encode("one"), encode("two")...)
	all := Authorities(append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}), both...))
	if len(all) != 2 || all[1] != sha256.Sum256([]byte("two")) {
		t.Fatalf("the authorities are %x", all)
	}
	for _, c := range []struct {
		token, trusted []Authority
		want           string
	}{
		{[]Authority{{}}, nil, ""},
		{[]Authority{{}}, all, ""},
		{all[:1], all, ""},
		{all[1:], all[1:], ""},
		{all[:1], all[1:], "another CA"},
		{all[:1], nil, "give --raft-tls-cert"},
	} {
		token := NewToken(c.token[0])
		err := token.CheckAuthorities(c.trusted)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("token of %x, trusted %x: %v", c.token[0][:4], c.trusted, err)
		}
	}
}
