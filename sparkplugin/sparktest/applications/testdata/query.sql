create table shops using parquet as select id as shop, concat('shop ', id) as name from range(0, 40, 1, 3);
create table sales using parquet as select id, id * 7 % 40 as shop, id % 100 as price from range(0, 20000, 1, 6);
select '=', name, count(*), sum(price) from sales join shops using (shop) where shop < 5 group by name order by name;
with monthly as (select id % 12 as month, sum(price) as sold from sales group by 1)
select '=', month, sold, rank() over (order by sold desc, month) from monthly order by month limit 3;
select '=', count(distinct shop), approx_count_distinct(id) > 19000, max(price) from sales;
drop table sales;
