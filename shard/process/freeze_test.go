package process

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	kind "github.com/signalbox/signalbox/protocol/process"
)

// frozenBed is a process's and its members' frozen state, and the bytes saved at the freeze.
type frozenBed struct {
	save  []func(dst []byte) []byte
	saved [][]byte
}

func (b *bed) freeze() (f frozenBed) { return freezeAll(b.Process) }

func freezeAll(p *Process) (f frozenBed) {
	f.save, f.saved = append(f.save, p.Freeze().Save), append(f.saved, p.Save(nil))
	for _, m := range p.Members() {
		f.save, f.saved = append(f.save, m.Freeze().Save), append(f.saved, m.Save(nil))
	}
	return f
}

// check compares the bytes saved now with the bytes saved at the freeze.
func (f *frozenBed) check() error {
	for k, save := range f.save {
		if !bytes.Equal(save(nil), f.saved[k]) {
			return fmt.Errorf("what was frozen has changed: thing %d of %d", k, len(f.save))
		}
	}
	return nil
}

// TestWhatIsFrozenIsSavedBesideCommands: frozen state stays unchanged, and the race detector finds nothing.
func TestWhatIsFrozenIsSavedBesideCommands(t *testing.T) {
	const members, requests = 5, 20
	for _, c := range []struct {
		name   string
		change func(c *crowd)
	}{
		{"requests", func(c *crowd) { c.broadcast(nil) }},
		{"replies", func(c *crowd) {
			for _, m := range c.list {
				c.reply(m, c.lastExchange, []byte("late"))
			}
		}},
		{"some acknowledgements", func(c *crowd) {
			for _, m := range c.list {
				c.Ack(c.at(), m, m.lastSeq-requests/2)
			}
			c.broadcast(nil)
		}},
		{"all acknowledgements", func(c *crowd) {
			c.ackAll()
			c.broadcast(nil)
		}},
		{"a completion, and another epoch", func(c *crowd) {
			c.Complete(c.at(), c.list[0], c.Epoch(), []byte("done"))
			c.Act(c.at(), kind.Action{Kind: kind.ActionRestart})
			c.turn()
		}},
		{"another epoch", func(c *crowd) {
			c.Act(c.at(), kind.Action{Kind: kind.ActionRestart})
			c.turn()
			c.broadcast(nil)
		}},
		{"members that leave", func(c *crowd) {
			for _, m := range c.list[2:] {
				c.Process.Leave(c.at(), m)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			crowd := newCrowd(t, members)
			for range requests {
				crowd.broadcast([]byte("request"))
			}
			for _, m := range crowd.list {
				crowd.reply(m, crowd.lastExchange-1, []byte("reply"))
			}
			frozen := freezeAll(crowd.Process)
			begun, changed := make(chan struct{}), make(chan struct{})
			var failure error
			var saving sync.WaitGroup
			saving.Go(func() {
				failure = frozen.check()
				close(begun)
				for over := false; !over; {
					select {
					case <-changed:
						over = true
					default:
					}
					failure = errors.Join(failure, frozen.check())
				}
			})
			<-begun
			before := crowd.Save(nil)
			c.change(crowd)
			close(changed)
			saving.Wait()
			if failure != nil {
				t.Error(failure)
			}
			if bytes.Equal(before, crowd.Save(nil)) {
				t.Error("nothing has changed")
			}
		})
	}
}
