package identity

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/signalbox/signalbox/shard/hosts"
)

// TestAddressBookHasTheInitialMembersUntilItIsWritten: afterwards it has the last written content, which must be
// intact.
func TestAddressBookHasTheInitialMembersUntilItIsWritten(t *testing.T) {
	d, err := Claim(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	if err := d.Make(Expected{HostName: "a", Version: "1.0"}); err != nil {
		t.Fatal(err)
	}
	if err := d.BootstrapAlone("c", 1, "a:7402", false); err != nil {
		t.Fatal(err)
	}
	book, err := d.ReadBook()
	if err != nil || len(book) != 1 || book[0].Name != "a" || book[0].Raft != "a:7402" {
		t.Fatalf("%+v, %v", book, err)
	}
	book[0].Start = hosts.Start{Number: 3, Draw: 1<<64 - 1}
	book = append(book, Known{InitialMember: InitialMember{ID: 2, Name: "b", Raft: "b:1"}, Expelled: true})
	if err := d.WriteBook(book); err != nil {
		t.Fatal(err)
	}
	if again, err := d.ReadBook(); err != nil || !slices.Equal(again, book) {
		t.Errorf("%+v, %v; written was %+v", again, err, book)
	}
	path := filepath.Join(d.path, BookName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ReadBook(); !errors.Is(err, ErrDamaged) {
		t.Errorf("half of it is read: %v", err)
	}
}
