package wire_test

import (
	"fmt"
	"reflect"
	"time"

	"github.com/pigeon-sched/pigeon/internal/sched"
)

// filled makes a value in which every field, those added later too, is set to
// something no other field has. So a translation that forgets a field or swaps
// two does not give the same value back.
func filled[T any]() T {
	var v T
	next := 0
	fill(reflect.ValueOf(&v).Elem(), &next)
	return v
}

func fill(v reflect.Value, next *int) {
	*next++
	switch v.Interface().(type) {
	case sched.Role:
		v.SetUint(uint64(sched.Master))
		return
	case sched.Class:
		v.SetUint(uint64(sched.Long))
		return
	case sched.Outcome:
		v.SetUint(uint64(sched.Yielded))
		return
	case sched.Marks:
		v.SetUint(uint64(sched.Restartable | sched.Moved))
		return
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(int64(*next), 1).UTC()))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("s%d", *next))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*next))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(*next))
	case reflect.Float64:
		v.SetFloat(float64(*next) + 0.5)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), next)
		fill(v.Index(1), next)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.Struct:
		for _, f := range v.Fields() {
			fill(f, next)
		}
	default:
		panic(fmt.Sprintf("no way to fill a %s", v.Type()))
	}
}
