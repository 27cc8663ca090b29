uncle(X, Y) :- brother(X, Z1), mother(Z1, Y), Z1 \= X, Y \= X, Y \= Z1.
father(X, Y) :- husband(X, Z1), mother(Z1, Y).
'/film/film/genre'(X, Y) :- '/film/film/prequel'(X, Z1), '/film/film/genre'(Z1, Y).
'/film/film/genre'(X, '/m/0drama') :- true.
'/people/person/nationality'(X, '/m/09c7w0') :- '/people/person/place_of_birth'(X, Z1), '/location/location/contains'('/m/09c7w0', Z1).
'/people/person/nationality'(X, Y) :- '/film/actor/film./film/performance/film'(X, Z1), '/film/film/release_date_s./film/film_regional_release_date/film_release_region'(Z1, Y).
'/award/award_nominee/award_nominations./award/award_nomination/award'(X, Y) :- '/award/award_category/nominees./award/award_nomination/nominated_for'(Y, X).
'/film/film/language'(X, Y) :- '/film/film/written_by'(X, Z1), '/people/person/languages'(Z1, Y).
person(X) :- wearing(X, Z1), shirt(Z1).
person(X) :- riding(X, Z1), bicycle(Z1), red(Z1), \+ (of(Z2, X), wheel(Z2)).
wheel(X) :- of(X, Z1), riding(Z2, Z1), person(Z2).
helmet(X) :- on(X, Z1), of(Z1, Z2), person(Z2).
bus(X) :- \+ wearing(Z1, X).
bus(X) :- \+ (wearing(Z1, X), person(Z1)), size_over_12pct(X), at_left(X).
surfboard(X) :- wave(Z1).
surfboard(X) :- \+ wave(Z1), person(Z2), wearing(Z2, Z3), pants(Z3).
skis(X) :- narrow(X), 'aspect_over_3.1'(X), bottom_over_86pct(X), ride(Z1, X), person(Z1).
chair(X) :- sit_on(Z1, X) ; 'sleep next to'(Z1, X), cat(Z1).
person(X) :- true.
capitalOf(X, Y) :- isLocatedIn(X, Y), \+ capitalOf(Z1, Y).
has_part(X, Y) :- is_a(X, Z1), has_part(Z1, Y).
'_hypernym'(X, Y) :- '_derivationally_related_form'(X, Z1), '_hypernym'(Z1, Z2), '_has_part'(Z2, Y).
'_also_see'(X, Y) :- '_similar_to'(Y, X).
speaks(X, english) :- lives_in(X, london) ; bornIn(X, london).
knows(X, Y) :- \+ father(X, Y), \+ (mother(X, Z1), married(Z1, Y)), \+ X = Y.
female(X) :- \+ male(X), mother(X, Z1), old(Z1).
rich(X) :- age_over_60(X), income_18_to_60(X).
'Affects'(X, Y) :- 'Isa'(X, Z1), 'Interacts_with'(Z1, Y).
person(X) :- box_larger_than(X, Z1), helmet(Z1), box_above(Z1, X).
genre(X, Y) :- (likes(X, Y) ; knows(X, Z1), likes(Z1, Y)), \+ (big(X), big(Y)).
'/people/person/profession'(X, Y) :- '/people/person/spouse_s./people/marriage/type_of_union'(X, Z1), '/people/person/profession'(Z1, Y).
person(X) :- '/people/person/profession'(X, Z1).
person(X) :- \+ '/people/person/profession'(X, Z1), '/film/film/directed_by'(Z2, X).
wheel(X) :- in_the_front_of(X, Z1), car(Z1), large(Z1), at_top(Z1) ; 'on the left of'(X, Z2), apple(Z2), 'size_up_to_3pct'(Z2).
grass(X) :- under(X, Z1), giraffe(Z1), eating(Z1), \+ person(X).
aunt(X, Y) :- wearing(X, Z1), shirt(Z1), of(Z1, Z2), red(Z2), near(Z2, Y), female(X), female(Y).
friend(X, Y) :- friend(Y, X).
likes(X, Y) :- likes(X, Z1), likes(Z2, Z1), likes(Z2, Y).
born_in(X, paris) :- \+ born_in(X, london), \+ (lives_in(X, Z1), city(Z1)), \+ speaks(X, german).
r17(X, Y) :- capital(Y, X).
'/a/b/c'(X, Y) :- \+ '/a/b/c'(Y, X).
'http://example.org/ns#birthPlace'(X, Y) :- 'http://example.org/ns#residence'(X, Y).
