package hosts

import (
	"cmp"
	"crypto/subtle"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Token lets one host join. The record has only the secret's hash. The leader also uses the hash as the key for
// checking the joiner's proof.
type Token struct {
	ID   string
	Hash [32]byte
	// Until is the shard time of expiry, Created the time of creation, By the author.
	Until, Created uint64
	By             string
	// Used is the incarnation that has joined with the token, zero for none.
	Used Incarnation
}

// Tokens are the join tokens by id. Callers must not modify the list.
func (r *Records) Tokens() []*Token { return r.tokens }

// ListTokens returns the join tokens without hashes, for people.
func (r *Records) ListTokens() []Token {
	var list []Token
	for _, t := range r.tokens {
		shown := *t
		shown.Hash = [32]byte{}
		list = append(list, shown)
	}
	return list
}

// Token returns the token with an id if usable now, or nil. The host with the incarnation in Used may use the token
// again, because the first answer may have been lost.
func (r *Records) Token(now uint64, id string, i Incarnation) *Token {
	k, found := r.tokenIndex(id)
	if !found {
		return nil
	}
	if t := r.tokens[k]; now < t.Until && (t.Used == (Incarnation{}) || t.Used == i) {
		return t
	}
	return nil
}

func (r *Records) tokenIndex(id string) (int, bool) {
	return slices.BinarySearchFunc(r.tokens, id, func(t *Token, id string) int { return cmp.Compare(t.ID, id) })
}

// CreateToken creates a join token, valid for a number of milliseconds. The asking client has drawn the id and the
// secret.
func (r *Records) CreateToken(at At, id string, hash [32]byte, millis uint64) Answer {
	if err := host.CheckWord("the token id", id, 1, MaxTokenID); err != nil {
		return badRequest(err)
	}
	if millis == 0 || millis > MaxTokenMillis || hash == ([32]byte{}) {
		return refuse(protocol.StatusBadRequest, "a token is valid for 1 to %d ms, and needs a secret's hash",
			MaxTokenMillis)
	}
	if k, found := r.tokenIndex(id); found {
		if subtle.ConstantTimeCompare(r.tokens[k].Hash[:], hash[:]) == 1 {
			return Answer{Existed: true}
		}
		return refuse(protocol.StatusAlreadyExists, "token %s already exists with a different secret", id)
	}
	r.tokens = slices.DeleteFunc(slices.Clone(r.tokens), func(t *Token) bool { return at.Now >= t.Until })
	if len(r.tokens) >= MaxTokens {
		return refuse(protocol.StatusOverloaded, "the cluster has %d tokens, the maximum; revoke a token, or "+
			"wait until a token expires", MaxTokens)
	}
	moment := clock.Moment(at.Now)
	k, _ := r.tokenIndex(id)
	r.tokens = slices.Insert(r.tokens, k, &Token{ID: id, Hash: hash, Created: moment, Until: moment + millis,
		By: codec.Cut(at.By, MaxText)})
	r.revision++
	r.note(at, EventToken, nil, "token %s was made for %d ms", id, millis)
	return Answer{}
}

// RevokeToken revokes a token.
func (r *Records) RevokeToken(at At, id string) Answer {
	k, found := r.tokenIndex(id)
	if !found {
		return Answer{Existed: true}
	}
	r.tokens = slices.Delete(slices.Clone(r.tokens), k, k+1)
	r.revision++
	r.note(at, EventToken, nil, "token %s was revoked", id)
	return Answer{}
}

// useToken checks that a newcomer may join, and uses up the newcomer's token.
func (r *Records) useToken(at At, j *Join) Answer {
	if j.Trusted {
		return Answer{}
	}
	t := r.Token(at.Now, j.Token, j.Incarnation)
	if t == nil {
		return refuse(protocol.StatusUnauthorized,
			"the join token is unknown, expired, revoked or used; create a new token with "+
				"signalbox host join-token create")
	}
	next := *t
	next.Used = j.Incarnation
	k, _ := r.tokenIndex(t.ID)
	r.tokens[k] = &next
	return Answer{}
}
